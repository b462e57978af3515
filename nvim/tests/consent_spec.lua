-- Consent to ask a model on another machine, and what left this one.

local t = require('support')

-- Not one of the addresses of this machine, so that it needs consent; and yet nothing leaves it:
-- who connects to it is told at once that nobody is there.
local DESTINATION = 'http://0.0.0.0:9'
local ALLOW = 'ranked locally; :Winnow consent to use a model'
local SEARCH = 'keyword how are plugins loaded -- load_plugin'

---A user who has decided nothing yet, and a server with one model, which is elsewhere.
---@param llm? table further settings, for a server of its own
---@param folder? string else that of the other tests, with their server
---@return string folder
local function begin(llm, folder)
  folder = folder or (llm and t.project()) or t.shared_project('consent')
  vim.fn.delete(vim.env.XDG_STATE_HOME .. '/winnow', 'rf')
  local model =
    { provider = 'openai', model = 'm', base_url = DESTINATION .. '/v1', plain_http = true }
  local settings = {
    winnow = {
      index = { enabled = false },
      llm = vim.tbl_extend(
        'force',
        { preferred = { 'away' }, models = { away = model } },
        llm or {}
      ),
    },
  }
  t.setup({ open_list = false }, { settings = settings })
  return folder
end

---Answer what is asked by `vim.ui.select`.
---@param title? string of the choice
---@return table asked prompt and titles, when somebody was asked
local function choosing(title)
  local asked = {}
  t.replace(vim.ui, 'select', function(items, options, done)
    asked.prompt = options.prompt
    asked.titles = vim.tbl_map(options.format_item, items)
    for at, item in ipairs(items) do
      if asked.titles[at] == title then
        return done(item, at)
      end
    end
    done(nil)
  end)
  return asked
end

---What a command says when it is done.
---@param command string
---@return string
local function said_by(command)
  local said = t.notified()
  vim.cmd(command)
  t.wait('what it says', function()
    return #said > 0
  end)
  return said[1][1]
end

---What a command shows when it is done.
---@param command string
---@return string
local function shown_by(command)
  local shown
  t.replace(vim.api, 'nvim_echo', function(chunks)
    shown = chunks[1][1]
  end)
  vim.cmd(command)
  return t.wait('what it shows', function()
    return shown
  end)
end

---@return string
local function health()
  vim.cmd('checkhealth winnow')
  local lines = table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), '\n')
  vim.cmd('bwipeout!')
  return lines
end

return {
  {
    'without consent the picker and the lists say once how to give it, in words that fit',
    function()
      begin()
      local asked = choosing()
      local said = t.notified()
      vim.cmd('Winnow ' .. SEARCH)
      local picker = t.finished_picker()
      t.listed(picker)
      local info = table.concat(vim.api.nvim_buf_get_lines(picker.windows.info_buf, 0, -1, false))
      t.contains(info, ALLOW)
      t.contains(t.visible(picker.windows.info)[2], '2 of 2 · ' .. ALLOW)
      t.equal(1, select(2, info:gsub('[cC]onsent', '')))
      t.equal({}, said, 'nothing pops up')
      picker:close()
      local message = said_by('Winnow! ' .. SEARCH)
      assert(vim.endswith(message, ALLOW), message)
      t.contains(vim.fn.getqflist({ title = 0 }).title, ALLOW)
      t.contains(
        said_by('Winnow! ' .. SEARCH:gsub('keyword', 'keyword ranker=llm')),
        'no language model is available; :Winnow consent to use a model'
      )
      t.equal(nil, asked.prompt)
    end,
  },
  {
    'who chooses sees where code would go; with consent resume has the model asked',
    function()
      local folder = begin()
      vim.cmd('Winnow ' .. SEARCH)
      local picker = t.finished_picker()
      t.equal({ DESTINATION }, picker.search.answer.ranked_by.needs_consent)
      picker:close()
      t.contains(shown_by('Winnow audit'), 'no requests to any model yet')

      local asked = choosing('Allow for this workspace')
      t.equal(
        'winnow: ' .. DESTINATION .. ': code may be sent, by your consent',
        said_by('Winnow consent')
      )
      local prompt = ('Winnow: send code of %s to %s?'):format(vim.fs.basename(folder), DESTINATION)
      t.equal(prompt, asked.prompt)
      t.equal({ 'Allow for this workspace', 'Not for this workspace', 'Withdraw' }, asked.titles)

      vim.cmd('Winnow resume')
      picker = t.finished_picker()
      local by = picker.search.answer.ranked_by
      t.equal(nil, by.needs_consent)
      t.contains(by.fallback_reason, 'away')
      local audit = vim.split(shown_by('Winnow audit'), '\n')
      t.contains(audit[1], 'away at ' .. DESTINATION .. ': 2 files, ')
      t.contains(audit[1], ', 0 tokens, failed')
      t.equal({ '    src/loader.py', '    src/main.py' }, vim.fn.sort({ audit[2], audit[3] }))
      t.contains(audit[#audit - 1], 'to other machines since midnight UTC: ')
      t.contains(audit[#audit - 1], ', 0 tokens, $0.000000')
      t.equal('log: ' .. vim.env.XDG_STATE_HOME .. '/winnow', audit[#audit])

      -- That is done once: from then on it is as it was left.
      local answer = picker.search.answer
      picker:close()
      vim.cmd('Winnow resume')
      picker = assert(require('winnow.picker').get())
      t.equal(nil, picker.running)
      t.equal(answer, picker.search.answer)
    end,
  },
  {
    'to refuse ends the question, to withdraw brings it back; to dismiss it decides nothing',
    function()
      begin()
      local asked = choosing()
      vim.cmd('Winnow consent')
      t.wait('the question', function()
        return asked.prompt
      end)
      t.equal(
        DESTINATION .. ': nothing is sent: you refused',
        said_by('Winnow consent refuse'):sub(9)
      )
      local message = said_by('Winnow! ' .. SEARCH)
      t.contains(vim.fn.getqflist({ title = 0 }).title, 'you refused')
      assert(not message:find(':Winnow consent', 1, true), message)
      asked.prompt = nil
      vim.cmd('Winnow consent')
      t.wait('the question', function()
        return asked.prompt
      end)
      t.contains(asked.prompt, DESTINATION .. ' (refused)?')
      t.contains(said_by('Winnow consent withdraw'), 'nothing is sent without your consent')
      t.contains(said_by('Winnow! ' .. SEARCH), ALLOW)
      t.contains(said_by('Winnow consent give'), 'may be sent, by your consent')
    end,
  },
  {
    'where there is nothing to decide, nobody is asked',
    function()
      begin({ consent = 'always' })
      local asked = choosing('Allow for this workspace')
      t.equal(
        'winnow: ' .. DESTINATION .. ': code of every workspace may be sent (`llm.consent`)',
        said_by('Winnow consent')
      )
      begin({ enabled = false })
      t.contains(said_by('Winnow consent'), 'language models are turned off')
      t.equal(nil, asked.prompt)
    end,
  },
  {
    ':checkhealth winnow says whether a model may be asked, and where consent is missing',
    function()
      begin(nil, t.project())
      t.contains(health(), 'no server is running')
      said_by('Winnow! ' .. SEARCH)
      t.contains(
        health(),
        DESTINATION .. ': nothing is sent without your consent; `:Winnow consent` allows it'
      )
      said_by('Winnow consent give')
      t.contains(health(), 'OK ' .. DESTINATION .. ': code may be sent')
    end,
  },
  {
    'completion of decisions; one that there is not is a message',
    function()
      t.shared_project()
      t.setup()
      t.equal({ 'give', 'refuse', 'withdraw' }, vim.fn.getcompletion('Winnow consent ', 'cmdline'))
      t.equal({}, vim.fn.getcompletion('Winnow consent give ', 'cmdline'))
      t.contains(
        said_by('Winnow consent maybe'),
        'unknown decision `maybe`; use one of give, refuse'
      )
    end,
  },
}
