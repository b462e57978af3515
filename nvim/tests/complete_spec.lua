-- `$/complete`: ranking by the user's function.

local t = require('support')

local questions = 0

---Run a search with a new question, because the server caches answers of models.
---@param complete winnow.Complete
---@return table answer
---@return winnow.Item[] items
local function search(complete)
  questions = questions + 1
  t.shared_project('complete')
  t.setup({ complete = complete })
  local items, answer, problem
  require('winnow').search('keyword', {
    query = ('how are plugins loaded %d'):format(questions),
    terms = { 'load_plugin', 'register_plugin' },
  }, function(...)
    items, answer, problem = ...
  end)
  t.wait('the answer', function()
    return items or problem
  end)
  assert(items, problem)
  return answer, items
end

local function last_file(request)
  local last_id
  for id in request.prompt:gmatch('\n%[(f%d+)%] ') do
    last_id = id
  end
  return vim.json.encode({ files = { { id = last_id, lines = '1', reason = 'it is the last' } } })
end

return {
  {
    'a function that answers later ranks, and the answer names its model',
    function()
      local sent
      local answer, items = search(function(request, done)
        sent = request
        vim.defer_fn(function()
          done(last_file(request), 'my-model')
        end, 50)
      end)
      t.equal({ kind = 'llm', model = 'my-model', provider = 'editor' }, answer.ranked_by)
      local rest = 'not chosen by the model'
      t.equal(
        { 'it is the last', rest, rest, rest },
        vim.tbl_map(function(item)
          return item.reason
        end, items)
      )
      t.contains(sent.system, 'relevance')
      t.contains(sent.prompt, 'how are plugins loaded')
      assert(sent.max_tokens > 0)
    end,
  },
  {
    'a function that answers immediately ranks too',
    function()
      local answer = search(function(request, done)
        done(last_file(request))
      end)
      t.equal('editor', answer.ranked_by.model)
    end,
  },
  {
    'if the function fails, the answer has the local order and the reason',
    function()
      local answer, items = search(function(_, done)
        done(nil, 'no credit left')
      end)
      t.contains(answer.ranked_by.fallback_reason, 'no credit left')
      t.equal('src/loader.py', items[1].path)
      answer = search(function()
        error('a mistake in it')
      end)
      t.contains(answer.ranked_by.fallback_reason, 'a mistake in it')
    end,
  },
  {
    'a model ranks the one box only on Enter, never while the user types',
    function()
      -- Its own server, because a server stops asking a model that fails repeatedly.
      t.project()
      local calls = 0
      t.setup({
        params = { code = { ranker = 'auto' } },
        complete = function(_, done)
          calls = calls + 1
          done(nil, 'no credit left')
        end,
      })
      vim.cmd('Winnow')
      local picker = require('winnow.picker').get()
      vim.api.nvim_buf_set_lines(picker.windows.prompt_buf, 0, -1, false, {
        '> how are plugins loaded by name',
      })
      vim.api.nvim_exec_autocmds('TextChangedI', { buffer = picker.windows.prompt_buf })
      t.equal({ nil, false, 0 }, { picker.running, picker.type_timer:is_active(), calls })
      t.press_in(picker, '<CR>')
      picker = t.finished_picker()
      assert(#picker.shown > 0)
      assert(calls > 0, 'the model was asked')
      t.contains(t.visible_text(picker.windows.list), ' ranked locally: ')
    end,
  },
  {
    'canceling a search stops the function',
    function()
      t.shared_project('complete')
      local was_called, stopped = false, false
      t.setup({
        complete = function()
          was_called = true
          return function()
            stopped = true
          end
        end,
      })
      vim.cmd('Winnow keyword how are plugins loaded -- load_plugin')
      t.wait('the call of the function', function()
        return was_called
      end)
      local picker = require('winnow.picker').get()
      t.equal('src/loader.py', picker.search.items[1].path, 'the local order is shown meanwhile')
      t.listed(picker)
      t.contains(t.marked(picker)[1], '  loader.py:2 src ')
      t.equal(true, picker.running.busy)
      picker:close()
      t.equal(false, picker.running.busy)
      t.wait('the end of the function', function()
        return stopped
      end)
    end,
  },
  {
    'without a function, the plugin announces nothing and answers with an error',
    function()
      t.shared_project()
      t.setup()
      local params = { capabilities = {} }
      vim.lsp.config.winnow.before_init(params)
      t.equal(nil, params.capabilities.experimental)
      local result, err = require('winnow.complete').answer({ prompt = '' })
      t.equal(nil, result)
      t.contains(err.message, 'no `complete` function')
    end,
  },
}
