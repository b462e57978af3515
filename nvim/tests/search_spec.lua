-- Searches with the real server: results, summaries and cancellation.

local t = require('support')

---@param mode winnow.Mode
---@param request winnow.Request
local function search(mode, request)
  local items, answer, problem
  require('winnow').search(mode, request, function(...)
    items, answer, problem = ...
  end)
  t.wait('the answer', function()
    return items or problem
  end)
  return items, answer, problem
end

---Open an item and return the line and the word under the cursor.
local function word_at(item)
  require('winnow.place').open(item)
  local _, column = unpack(vim.api.nvim_win_get_cursor(0))
  return vim.fn.line('.'), vim.api.nvim_get_current_line():sub(column + 1):match('^[%w_]+')
end

-- A large project, for searches that take a while.
local function large_project()
  local files = { ['broad.txt'] = ('broad word\n'):rep(8000) }
  for number = 1, 400 do
    files[('many/f%03d.txt'):format(number)] = ('many words here\n'):rep(20)
  end
  return t.shared_project('much', files)
end

return {
  {
    'a keyword search returns ranked files with reasons, the ranker and unused terms',
    function()
      t.shared_project()
      t.setup()
      local items, answer = search('keyword', {
        query = 'how are plugins loaded',
        terms = { 'load_plugin\\b', 'no_such_thing' },
      })
      t.equal('src/loader.py', items[1].path)
      t.contains(items[1].reason, 'defines load_plugin')
      t.equal(1, items[1].rank)
      local texts = require('winnow.answer')
      -- That no model has a key is no news, but a detail.
      t.equal(nil, texts.ranked_by(answer))
      local details = table.concat(texts.details('keyword', answer), '\n')
      t.contains(details, 'ranked locally: no language model has a key')
      t.contains(details, 'no_such_thing (no match)')
      local line, word = word_at(items[1])
      t.equal({ 5, 'load_plugin' }, { line, word })
    end,
  },
  {
    'details name commands and params as they are typed',
    function()
      local function details(mode, reason)
        return require('winnow.answer').details(mode, {
          completeness = { complete = false, reasons = { reason }, skipped = {} },
          warnings = {},
          suggestions = { 'load_plugin' },
        })
      end
      t.equal(
        { '2 documents could not be read', 'did you mean: load_plugin' },
        details('docs', '2 documents could not be read: see `failed`')
      )
      t.equal(
        { '1 binary file: put `include_binary=true` before the query' },
        vim.list_slice(details('grep', '1 binary file: pass include_binary'), 1, 1)
      )
      t.equal(
        { 'a submodule; `:Winnow grep include_submodules=true` searches it' },
        details('files', 'a submodule; `grep` with include_submodules searches it')
      )
    end,
  },
  {
    'details say which search was used, and why',
    function()
      local completeness = {
        complete = false,
        reasons = {},
        skipped = {},
        index = { state = 'none', files_total = 0 },
      }
      local answer =
        { completeness = completeness, warnings = {}, total_found = 0, engine = 'text' }
      local function details(more)
        return require('winnow.answer').details('code', vim.tbl_extend('error', answer, more))
      end
      t.equal(
        { 'searched by meaning, because it is several words' },
        details({ search_type_used = 'semantic', reason = "'tea cups': it is several words" })
      )
      t.equal(
        { 'searched for this text, not by name: nothing is defined with the name tea' },
        details({
          search_type_used = 'text',
          reason = "'tea': it is a word; nothing is defined with the name tea",
          fallback = {
            from = 'symbol',
            to = 'text',
            reason = 'nothing is defined with the name tea',
          },
        })
      )
      t.equal({}, details({ search_type_used = 'text', reason = 'search_type is text' }))
      t.equal('no index', require('winnow.answer').notice('code', answer))
    end,
  },
  {
    'without terms, a keyword search uses the words of the question',
    function()
      t.shared_project()
      t.setup()
      local items, answer = search('keyword', { query = 'where is register_plugin defined?' })
      t.equal('src/registry.py', items[1].path)
      t.equal('register_plugin', answer.terms[1].term)
      local _, _, problem = search('keyword', { query = '?!' })
      t.contains(problem, 'no search terms')
    end,
  },
  {
    'the first search of a session uses the index on disk',
    function()
      local folder = t.project()
      local build = vim.list_slice(t.command, 1, #t.command - 1)
      vim.list_extend(build, { 'index', 'build' })
      t.equal(0, vim.system(build, { cwd = folder }):wait().code)
      t.setup(nil, { settings = { winnow = {} } })
      local items, answer = search('semantic', { query = 'how are plugins loaded' })
      t.equal('src/loader.py', items[1].path)
      t.equal('ready', answer.completeness.index.state)
      t.equal(true, answer.completeness.complete)
      t.equal(nil, answer.fallback)
      local texts = require('winnow.answer')
      t.equal(nil, texts.notice('semantic', answer))
      local _, other = search('semantic', { query = 'kubernetes plugins' })
      t.equal('no text file contains "kubernetes"', texts.notice('semantic', other))
      t.equal(texts.notice('semantic', other), texts.details('keyword', other)[1])
      local _, corrected = search('semantic', { query = 'how are plugginz loaded' })
      t.contains(texts.notice('semantic', corrected), "instead of 'plugginz'")
    end,
  },
  {
    'a keyword search shrinks broad words instead of rejecting them',
    function()
      large_project()
      t.setup()
      local items, answer, problem = search('keyword', { query = 'a broad word' })
      t.equal(nil, problem)
      t.equal('broad.txt', items[1].path)
      t.equal('shrunk', answer.terms[1].status)
      local _, _, skip_problem =
        search('keyword', { query = 'a broad word', params = { broad_terms = 'skip' } })
      t.contains(skip_problem, 'too many results')
    end,
  },
  {
    'grep finds the exact line and column, counting characters',
    function()
      t.shared_project()
      t.setup()
      local items, answer = search('grep', { query = 'plugin_\\w+', params = { path = 'src' } })
      t.equal({ 'src/loader.py' }, t.paths(items))
      t.equal('1 of 1 match', require('winnow.answer').count('grep', answer, items))
      local line, word = word_at(items[1])
      t.equal({ 6, 'plugin_sp' }, { line, word })
    end,
  },
  {
    'all matches in a line have its text',
    function()
      t.project({ ['a.txt'] = 'one word, another word\n' })
      t.setup()
      local items = search('grep', { query = 'word' })
      t.equal({ 'one word, another word', 'one word, another word' }, {
        items[1].text,
        items[2].text,
      })
    end,
  },
  {
    'a symbol search returns symbols with their kind',
    function()
      t.shared_project()
      t.setup()
      -- Without an index, the server reads files for a few seconds. On a very busy machine that may
      -- not be enough for any file; the answer is then incomplete.
      local items, answer, problem
      for _ = 1, 15 do
        items, answer, problem =
          search('symbols', { query = 'Loader.load_plugin', params = { exact = true } })
        if not items or items[1] or answer.completeness.complete then
          break
        end
      end
      assert(items and items[1], vim.inspect({ answer, problem }))
      t.equal('src/loader.py', items[1].path)
      t.contains(items[1].reason, 'method Loader.load_plugin')
      t.equal({ 5, 'load_plugin' }, { word_at(items[1]) })
    end,
  },
  {
    'semantic and code search return passages and the kind of search',
    function()
      t.shared_project()
      t.setup()
      local passages, answer = search('semantic', { query = 'where is a plugin registered' })
      t.equal('src/registry.py', passages[1].path)
      t.equal({ 3, 'def register_plugin(name, plugin):' }, { passages[1].lnum, passages[1].text })
      t.contains(
        table.concat(require('winnow.answer').details('grep', answer), '\n'),
        'engine: text'
      )
      local hits, code = search('code', { query = 'registry.py' })
      t.equal({ 'src/registry.py' }, t.paths(hits))
      t.equal('1 of 1 file', require('winnow.answer').count('code', code, hits))
      assert(hits[1].is_file)
    end,
  },
  {
    'a search reports matches it left out',
    function()
      t.shared_project()
      t.setup()
      local items, answer = search('grep', { query = 'load_plugin_from_cache' })
      t.equal({}, items)
      local notes = table.concat(require('winnow.answer').details('grep', answer), '\n')
      t.contains(notes, 'include_ignored')
      local found = search('grep', {
        query = 'load_plugin_from_cache',
        params = { include_ignored = true },
      })
      t.equal({ 'ignored/cache.py' }, t.paths(found))
    end,
  },
  {
    'a search finds unsaved text, even in a buffer opened later',
    function()
      local folder = t.shared_project()
      t.setup()
      search('grep', { query = 'registry' })
      vim.cmd.edit(folder .. '/src/main.py')
      vim.api.nvim_buf_set_lines(0, 0, 0, false, { '# typed_and_not_saved' })
      local items = search('grep', { query = 'typed_and_not_saved' })
      t.equal({ { 'src/main.py', 1, 3 } }, { { items[1].path, items[1].lnum, items[1].col } })
      vim.bo.modified = false
    end,
  },
  {
    'a server that is not enabled receives text but provides no other features to buffers',
    function()
      local folder = t.shared_project()
      t.setup()
      search('grep', { query = 'registry' })
      vim.cmd.edit(folder .. '/src/main.py')
      local clients = vim.lsp.get_clients({ name = 'winnow', bufnr = 0 })
      t.equal(1, #clients)
      t.equal(false, clients[1]:supports_method('textDocument/definition'))
      t.equal(false, clients[1]:supports_method('workspace/symbol'))
      t.equal({ '', '' }, { vim.bo.tagfunc, vim.bo.omnifunc })
    end,
  },
  {
    'an invalid pattern or param gives a specific problem',
    function()
      t.shared_project()
      t.setup()
      local _, _, problem = search('grep', { query = '(' })
      t.contains(problem, 'unclosed group')
      local _, _, params = search('grep', { query = 'a', params = { max_results = 'x' } })
      t.contains(params, '`max_results`')
      t.contains(
        t.error_of(function()
          search('nonsense', { query = 'a' })
        end),
        'unknown mode `nonsense`'
      )
    end,
  },
  {
    'a canceled search ends immediately, sends no updates and is canceled in the server',
    function()
      local folder = t.shared_project()
      t.setup()
      search('grep', { query = 'warm' })
      local client = assert(require('winnow.client').running(folder))
      local sent = {}
      t.replace(client, 'cancel_request', function(self, id)
        sent[#sent + 1] = id
        return getmetatable(self).__index.cancel_request(self, id)
      end)
      local updates = 0
      local running = require('winnow.search').start('grep', { query = 'e' }, {
        on_update = function()
          updates = updates + 1
        end,
      })
      t.equal(true, running.busy)
      running:cancel()
      t.equal(false, running.busy)
      t.equal('stopped after 0', running:summary())
      t.equal(1, #sent)
      -- When the server answers the next search, it has had time to answer the first one.
      search('grep', { query = 'after' })
      t.equal(0, updates)
      t.equal(nil, next(client.requests), 'no request is pending')
    end,
  },
  {
    'Neovim shows the progress of a list, and the picker shows its own',
    function()
      t.shared_project()
      t.setup()
      local kinds = {}
      local id = vim.api.nvim_create_autocmd('LspProgress', {
        callback = function(event)
          local progress = event.data.params
          -- The server chooses the tokens of its own progress, such as that of the index.
          if vim.startswith(progress.token, 'winnow-nvim-') then
            kinds[#kinds + 1] = progress.value.kind or 'none'
          end
        end,
      })
      search('keyword', { query = 'plugins', terms = { 'plugin' } })
      t.wait('the end of the progress', function()
        return vim.list_contains(kinds, 'end')
      end)
      t.equal('begin', kinds[1])
      assert(not vim.list_contains(kinds, 'none'), 'partial results are not progress')
      kinds = {}
      vim.cmd('Winnow keyword plugins -- plugin')
      local picker = t.finished_picker()
      local id_of_search = picker.search.answer.search_id
      require('winnow').feedback('opened', picker:item(), id_of_search)
      -- The next answer arrives after that of the feedback and any messages with it.
      local next_answer
      require('winnow.client').call(picker.search.folder, '$/indexStatus', {}, function(...)
        next_answer = { ... }
      end)
      t.wait('the next answer', function()
        return next_answer
      end)
      t.equal({}, kinds)
      vim.api.nvim_del_autocmd(id)
    end,
  },
  {
    'partial results of grep stream and add up',
    function()
      large_project()
      t.setup()
      local counts = {}
      local running = require('winnow.search').start('grep', {
        query = 'words',
        params = { max_results = 8000, path = 'many' },
      }, {
        on_update = function(current)
          counts[#counts + 1] = #current.items
        end,
      })
      t.wait('the complete answer', function()
        return not running.busy
      end)
      t.equal(8000, #running.items)
      assert(#counts > 2, 'the results arrive in parts: ' .. vim.inspect(counts))
      t.equal(counts, vim.fn.sort(vim.deepcopy(counts), 'n'))
    end,
  },
}
