-- `$/complete`: a user's function ranks.

local t = require('support')

local asked = 0

---Ask a question that was not asked before: answers of models are kept.
---@param complete winnow.Complete
---@return table answer
---@return winnow.Item[] items
local function search(complete)
  asked = asked + 1
  t.shared_project('complete')
  t.setup({ complete = complete })
  local found, answer, problem
  require('winnow').search('keyword', {
    query = ('how are plugins loaded %d'):format(asked),
    terms = { 'load_plugin', 'register_plugin' },
  }, function(items, said, failed)
    found, answer, problem = items, said, failed
  end)
  t.wait('the answer', function()
    return found or problem
  end)
  assert(found, problem)
  return answer, found
end

local function last_file(request)
  local id
  for one in request.prompt:gmatch('\n%[(f%d+)%] ') do
    id = one
  end
  return vim.json.encode({ files = { { id = id, lines = '1', reason = 'it is the last' } } })
end

return {
  {
    'a function that answers later ranks, and is named',
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
    'so does one that answers at once',
    function()
      local answer = search(function(request, done)
        done(last_file(request))
      end)
      t.equal('editor', answer.ranked_by.model)
    end,
  },
  {
    'where it fails, the local order is the answer and says why',
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
    'a search that is cancelled stops the function',
    function()
      t.shared_project('complete')
      local was_asked, stopped = false, false
      t.setup({
        complete = function()
          was_asked = true
          return function()
            stopped = true
          end
        end,
      })
      vim.cmd('Winnow keyword how are plugins loaded -- load_plugin')
      t.wait('the question', function()
        return was_asked
      end)
      local picker = require('winnow.picker').get()
      t.equal('src/loader.py', picker.search.items[1].path, 'the local order is there meanwhile')
      t.listed(picker)
      t.equal('  src/loader.py:2: def load_plugins(self, names):', t.marked(picker)[1])
      t.equal(true, picker.running.busy)
      picker:close()
      t.equal(false, picker.running.busy)
      t.wait('the end of the function', function()
        return stopped
      end)
    end,
  },
  {
    'without a function nothing is announced, and nothing asked',
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
