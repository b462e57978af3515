-- Consent to a remote model, and the audit of sent requests.

local t = require('support')

-- The server treats this address as remote, so it needs consent. Nothing leaves this machine,
-- because connections to it are refused immediately.
local DESTINATION = 'http://0.0.0.0:9'
local ALLOW = ':Winnow consent to use a model'
local SEARCH = 'keyword how are plugins loaded -- load_plugin'

---Set up a user without decisions and a server with one remote model.
---@param llm? table more settings, for a separate server
---@param folder? string defaults to the folder and server that the tests share
---@return string folder
local function setup(llm, folder)
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

---Answer `vim.ui.select`.
---@param title? string the title to choose; nil to dismiss the prompt
---@return table shown the prompt and the titles, once shown
local function choose(title)
  local shown = {}
  t.replace(vim.ui, 'select', function(items, options, done)
    shown.prompt = options.prompt
    shown.titles = vim.tbl_map(options.format_item, items)
    for index, item in ipairs(items) do
      if shown.titles[index] == title then
        return done(item, index)
      end
    end
    done(nil)
  end)
  return shown
end

---Run a command and return its first notification.
---@param command string
---@return string
local function notification_of(command)
  local messages = t.notified()
  vim.cmd(command)
  t.wait('a notification', function()
    return #messages > 0
  end)
  return messages[1][1]
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
    'without consent, the picker and the lists show once how to give it, in text that fits',
    function()
      setup()
      local shown = choose()
      local messages = t.notified()
      vim.cmd('Winnow ' .. SEARCH)
      local picker = t.finished_picker()
      t.listed(picker)
      local shown_text = t.visible_text(picker.windows.list)
      t.contains(shown_text, '2 of 2 files · ' .. ALLOW)
      t.equal(1, select(2, shown_text:gsub('[cC]onsent', '')))
      t.equal({}, messages, 'nothing pops up')
      picker:close()
      local message = notification_of('Winnow! ' .. SEARCH)
      assert(vim.endswith(message, ALLOW), message)
      t.contains(
        notification_of('Winnow! ' .. SEARCH:gsub('keyword', 'keyword ranker=llm')),
        'no language model is available; :Winnow consent to use a model'
      )
      t.equal(nil, shown.prompt)
    end,
  },
  {
    'the prompt shows the destination, and after consent resume uses the model',
    function()
      local folder = setup()
      vim.cmd('Winnow ' .. SEARCH)
      local picker = t.finished_picker()
      t.equal({ DESTINATION }, picker.search.answer.ranked_by.needs_consent)
      picker:close()
      t.contains(t.page_of('Winnow audit'), 'no requests to any model yet')

      local shown = choose('Allow for this workspace')
      t.equal(
        'winnow: ' .. DESTINATION .. ': code may be sent, with your consent',
        notification_of('Winnow consent')
      )
      local prompt = ('Winnow: send code of %s to %s?'):format(vim.fs.basename(folder), DESTINATION)
      t.equal(prompt, shown.prompt)
      t.equal({ 'Allow for this workspace', 'Not for this workspace', 'Withdraw' }, shown.titles)

      vim.cmd('Winnow resume')
      picker = t.finished_picker()
      local by = picker.search.answer.ranked_by
      t.equal(nil, by.needs_consent)
      t.contains(by.fallback_reason, 'away')
      local audit = vim.split(t.page_of('Winnow audit'), '\n')
      t.contains(audit[1], 'away at ' .. DESTINATION .. ': 2 files, ')
      t.contains(audit[1], ', 0 tokens, failed')
      t.equal({ '    src/loader.py', '    src/main.py' }, vim.fn.sort({ audit[2], audit[3] }))
      t.contains(audit[#audit - 1], 'to other machines since midnight UTC: ')
      t.contains(audit[#audit - 1], ', 0 tokens, $0.000000')
      t.equal('log: ' .. vim.env.XDG_STATE_HOME .. '/winnow', audit[#audit])

      -- Only the first resume searches again. Later ones show the same answer.
      local answer = picker.search.answer
      picker:close()
      vim.cmd('Winnow resume')
      picker = assert(require('winnow.picker').get())
      t.equal(nil, picker.running)
      t.equal(answer, picker.search.answer)
    end,
  },
  {
    'refusing hides the hint, withdrawing restores it, and dismissing decides nothing',
    function()
      setup()
      local shown = choose()
      vim.cmd('Winnow consent')
      t.wait('the question', function()
        return shown.prompt
      end)
      t.equal(
        DESTINATION .. ': nothing is sent: you refused',
        notification_of('Winnow consent refuse'):sub(9)
      )
      local message = notification_of('Winnow! ' .. SEARCH)
      local details = vim.fn.getqflist({ context = 0 }).context.winnow.details
      t.contains(table.concat(details, '\n'), 'you refused')
      assert(not message:find(':Winnow consent', 1, true), message)
      shown.prompt = nil
      vim.cmd('Winnow consent')
      t.wait('the question', function()
        return shown.prompt
      end)
      t.contains(shown.prompt, DESTINATION .. ' (refused)?')
      t.contains(notification_of('Winnow consent withdraw'), 'nothing is sent without your consent')
      t.contains(notification_of('Winnow! ' .. SEARCH), ALLOW)
      t.contains(notification_of('Winnow consent give'), 'may be sent, with your consent')
    end,
  },
  {
    'without anything to decide, there is no prompt',
    function()
      setup({ consent = 'always' })
      local shown = choose('Allow for this workspace')
      t.equal(
        'winnow: ' .. DESTINATION .. ': code of every workspace may be sent (`llm.consent`)',
        notification_of('Winnow consent')
      )
      setup({ enabled = false })
      t.contains(notification_of('Winnow consent'), 'language models are turned off')
      t.equal(nil, shown.prompt)
    end,
  },
  {
    ':checkhealth winnow reports given and missing consent',
    function()
      setup(nil, t.project())
      t.contains(health(), 'no server is running')
      notification_of('Winnow! ' .. SEARCH)
      t.contains(
        health(),
        DESTINATION .. ': nothing is sent without your consent; `:Winnow consent` allows it'
      )
      notification_of('Winnow consent give')
      t.contains(health(), 'OK ' .. DESTINATION .. ': code may be sent')
    end,
  },
  {
    'completion offers decisions, and an unknown decision gives a message',
    function()
      t.shared_project()
      t.setup()
      t.equal({ 'give', 'refuse', 'withdraw' }, vim.fn.getcompletion('Winnow consent ', 'cmdline'))
      t.equal({}, vim.fn.getcompletion('Winnow consent give ', 'cmdline'))
      t.contains(
        notification_of('Winnow consent maybe'),
        'unknown decision `maybe`; use one of give, refuse'
      )
    end,
  },
}
