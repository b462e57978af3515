-- The command line, options, and the status of the server.

local t = require('support')

-- Kinds of params and their names in the server's reference.
local KINDS = { list = 'array', number = 'integer', boolean = 'boolean', string = 'string' }

local function complete(line)
  return vim.fn.getcompletion(line, 'cmdline')
end

return {
  {
    'completion offers modes, params, their values and index actions',
    function()
      t.shared_project()
      t.setup()
      t.equal({
        'code',
        'files',
        'grep',
        'symbols',
        'semantic',
        'keyword',
        'docs',
        'resume',
        'history',
        'index',
        'status',
        'consent',
        'audit',
        'log',
      }, complete('Winnow '))
      t.equal({ 'symbols', 'semantic', 'status' }, complete('Winnow s'))
      t.equal({ 'kind=class' }, complete('Winnow symbols kind=cl'))
      t.equal({ 'ranker=' }, complete('Winnow keyword ra'))
      t.equal({ 'ranker=auto', 'ranker=llm', 'ranker=local' }, complete('Winnow keyword ranker='))
      t.equal({ 'word=true' }, complete('Winnow! grep path=src word=t'))
      t.equal({ 'path=src/' }, complete('Winnow grep path=s'))
      t.equal({ 'list=loclist' }, complete('Winnow grep list=l'))
      t.equal({}, complete('Winnow grep some text pa'))
      t.equal(
        { 'build', 'pause', 'resume', 'clear', 'refresh', 'status' },
        complete('Winnow index ')
      )
    end,
  },
  {
    'a path with spaces is completed with backslashes, and accepted',
    function()
      t.project({ ['my dir/a b/one.txt'] = 'text', ['two.txt'] = 'text' })
      t.setup()
      vim.api.nvim_feedkeys(
        vim.keycode([[:Winnow grep path=my<Tab>a\ b<Tab> word=tr<Tab> text<CR>]]),
        'xt',
        false
      )
      local picker = t.finished_picker()
      t.equal({ path = [[my dir/a b/]], word = true }, picker.request.params)
      t.equal({ 'my dir/a b/one.txt' }, t.paths(picker.shown))
    end,
  },
  {
    'a typed request is parsed: only known params count, and only before the query',
    function()
      local query = require('winnow.query')
      t.equal(
        {
          query = 'how are plugins loaded',
          terms = { 'load_plugin', 'two words' },
          params = { path = 'src', include = { '*.py', '*.md' }, max_results = 5 },
          list = 'loclist',
        },
        query.parse(
          'keyword',
          'path=src include=*.py,*.md max_results=5 list=loclist how are plugins loaded'
            .. ' -- load_plugin "two words"'
        )
      )
      t.equal({ query = 'a=b path=c  d', params = {} }, query.parse('grep', 'a=b path=c  d'))
      t.equal(
        { query = [[a\ b]], params = { path = 'my dir/x y', word = true } },
        query.parse('grep', [[path=my\ dir/x\ y  word=true a\ b]])
      )
      t.equal({ query = 'path=src', params = {} }, query.parse('grep', '-- path=src'))
      t.equal(
        { query = 'a -- b', params = { word = true } },
        query.parse('grep', 'word=true a -- b')
      )
      t.contains(
        t.error_of(function()
          query.parse('grep', 'word=maybe x')
        end),
        '`word=maybe`: expected true or false'
      )
      t.contains(
        t.error_of(function()
          query.parse('grep', 'max_result=3 foo')
        end),
        'unknown parameter `max_result`. Did you mean `max_results`?'
      )
      local suggestions = {
        ['pth=src foo'] = 'path',
        ['Path=src foo'] = 'path',
        ['inlcude=*.c foo'] = 'include',
        ['wrod=true foo'] = 'word',
        ['type=lua foo'] = 'file_types',
        ['hidden=true foo'] = 'include_hidden',
      }
      for typed, name in pairs(suggestions) do
        local problem = t.error_of(function()
          query.parse('grep', typed)
        end)
        t.contains(problem, ('Did you mean `%s`?'):format(name))
      end
      t.contains(
        t.error_of(function()
          query.parse('grep', 'top_k=3 foo')
        end),
        '`top_k` is a parameter of semantic, not of grep.'
      )
      local texts =
        { 'node=3 x', 'a=b c', 'name="path" x', 'type="text" x', 'timeout=30', 'Path=src' }
      for _, typed in ipairs(texts) do
        t.equal({ query = typed, params = {} }, query.parse('grep', typed))
      end
      t.contains(
        t.error_of(function()
          query.parse('keyword', 'ranker=best x')
        end),
        'expected one of auto, llm, local'
      )
      local request = { query = 'q', terms = { 'a', 'b c' } }
      t.equal('q -- a "b c"', query.format(request))
    end,
  },
  {
    'every param that can be typed exists in the server',
    function()
      local folder = vim.fs.joinpath(t.plugin, '../docs/tools')
      local pages = {
        keyword = 'keyword-search',
        docs = 'search-docs',
        symbols = 'find-symbol',
        grep = 'grep',
        semantic = 'semantic-search',
        code = 'search',
        files = 'search',
      }
      local query = require('winnow.query')
      for mode, page in pairs(pages) do
        local text = table.concat(vim.fn.readfile(('%s/%s.md'):format(folder, page)), '\n')
        local params = text:match('\n## Params\n(.-)\n## ')
        for name, kind in pairs(query.params[mode]) do
          local row = params:match('| `' .. name .. '` | ([^\n]*)')
          assert(row, ('%s of %s is not a param of the server'):format(name, mode))
          local expected = type(kind) == 'table' and '"' .. kind[1] .. '"' or KINDS[kind]
          if name ~= 'timeout' and name ~= 'kind' then
            t.contains(row, expected)
          end
        end
        for name in pairs(require('winnow.config').defaults.params[mode]) do
          assert(params:find('`' .. name .. '`', 1, true), name)
        end
      end
    end,
  },
  {
    'mistakes in a command give messages instead of stack traces',
    function()
      t.shared_project()
      t.setup()
      local messages = t.notified()
      vim.cmd('Winnow symbol a')
      t.contains(messages[1][1], 'winnow: unknown mode `symbol`. Did you mean `symbols`?')
      vim.cmd('Winnow! grep')
      t.contains(messages[2][1], 'a list needs a query')
      vim.cmd('Winnow index explode')
      t.contains(messages[3][1], 'unknown action `explode`')
      local cwd, deleted = vim.fn.getcwd(), vim.fn.tempname()
      vim.fn.mkdir(deleted)
      vim.cmd.cd(deleted)
      vim.fn.delete(deleted, 'd')
      vim.cmd('Winnow tea')
      vim.cmd.cd(cwd)
      t.equal('winnow: the working folder does not exist; change it with `:cd`', messages[4][1])
    end,
  },
  {
    'setup reports all invalid options at once and then changes nothing',
    function()
      local config = require('winnow.config')
      config.set({ picker = 'snacks' })
      local problem = t.error_of(function()
        require('winnow').setup({
          pickr = 'x',
          picker = 'own',
          width = 2,
          history = -1,
          complete = 5,
          open_list = 'yes',
          keys = { nxt = { 'x' }, next = 'x' },
          params = { grep = 5, gerp = {} },
        })
      end)
      for _, part in ipairs({
        'unknown option `pickr`',
        '`picker`: expected one of builtin, telescope, fzf_lua, snacks',
        '`width`: expected a number above 0',
        '`history`: expected a whole number',
        '`complete`: expected a function',
        '`open_list`: expected a boolean',
        'unknown option `keys.nxt`',
        '`keys.next`: expected a list of keys, or false',
        '`params.grep`: expected a table',
        'unknown option `params.gerp`',
      }) do
        t.contains(problem, part)
      end
      t.equal('snacks', config.current.picker)
      config.set({ keys = { next = { '<M-n>' }, close = false } })
      t.equal({ { '<M-n>' }, false, 'builtin' }, {
        config.current.keys.next,
        config.current.keys.close,
        config.current.picker,
      })
    end,
  },
  {
    'every action of the picker has a key, and every key an action',
    function()
      local actions = vim.fn.sort(require('winnow.picker').actions)
      t.equal(actions, vim.fn.sort(vim.tbl_keys(require('winnow.config').defaults.keys)))
    end,
  },
  {
    'status shows the state of the index, and index build reports when it is done',
    function()
      local folder = t.project()
      t.setup(nil, { settings = { winnow = { index = { enabled = true } } } })
      local messages = t.notified()
      vim.cmd('Winnow index build')
      t.wait('the index', function()
        return #messages > 0
      end)
      t.contains(messages[1][1], 'winnow: index build: ')
      local status = t.page_of('Winnow status')
      t.contains(status, 'winnow 0')
      t.contains(status, folder .. ': ')
      t.contains(status, ' of 4 files')
      t.contains(t.page_of('Winnow index status'), ' of 4 files')
    end,
  },
  {
    'status shows that a function in the configuration starts the server',
    function()
      t.project()
      t.setup(nil, {
        cmd = function(dispatchers)
          return vim.lsp.rpc.start(t.command, dispatchers)
        end,
      })
      t.contains(t.page_of('Winnow status'), ', a function of your configuration')
    end,
  },
  {
    ':Winnow log opens the LSP log',
    function()
      t.shared_project()
      t.setup()
      vim.cmd('Winnow log')
      t.equal(vim.lsp.log.get_filename(), vim.api.nvim_buf_get_name(0))
      t.equal(true, vim.bo.readonly)
    end,
  },
  {
    'mappings in visual mode search for the selection',
    function()
      local folder = t.shared_project()
      t.setup()
      vim.cmd.edit(folder .. '/src/registry.py')
      vim.keymap.set('x', 'gs', '<Plug>(winnow-grep)')
      vim.fn.search('register_plugin')
      vim.api.nvim_feedkeys(vim.keycode('vf)gs'), 'xmt', false)
      local picker = t.finished_picker()
      t.equal('register_plugin(name, plugin)', picker.request.query)
      t.equal({ 'src/registry.py' }, t.paths(picker.shown))
      picker:close()
      vim.cmd.edit(folder .. '/src/registry.py')
      vim.fn.search('register_plugin')
      vim.api.nvim_feedkeys(vim.keycode('Vjgs'), 'xmt', false)
      picker = t.finished_picker()
      t.equal({ 3, 4 }, { picker.shown[1].lnum, picker.shown[1].matches[1].end_lnum })
      vim.keymap.del('x', 'gs')
    end,
  },
  {
    ':checkhealth winnow reports what is installed and how to fix what is missing',
    function()
      t.shared_project()
      t.setup()
      local function report()
        vim.cmd('checkhealth winnow')
        local lines = table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), '\n')
        vim.cmd('bwipeout!')
        return lines
      end
      local good = report()
      t.contains(good, 'OK ripgrep: ripgrep')
      t.contains(good, 'OK Neovim')
      t.contains(good, 'winnow: the index of this project')
      -- It begins with what works, and what is optional is no warning.
      local server = good:match('winnow: the server.-\n(.-)\n\n')
      local first_missing = server:find('optional, ', 1, true) or #server
      assert(not server:find('OK', first_missing, true), server)
      assert(not good:find('WARNING', 1, true), good)
      t.setup(nil, { cmd = { 'no-such-winnow', 'serve' } })
      local bad = report()
      t.contains(bad, 'ERROR `no-such-winnow` not found')
      t.contains(bad, 'pip install winnow-ls')
      t.setup(nil, { cmd = { 'false', 'serve' } })
      t.contains(report(), 'exited with code 1')
      t.setup(nil, { cmd = function() end })
      t.contains(report(), 'so `winnow doctor` was not run')
    end,
  },
  {
    'the help has tags for the command, options, functions and mappings, and valid links',
    function()
      local file = vim.fs.joinpath(t.plugin, 'doc/winnow.txt')
      local text = table.concat(vim.fn.readfile(file), '\n')
      local copy = vim.fn.tempname()
      vim.fn.mkdir(copy .. '/doc', 'p')
      assert(vim.uv.fs_copyfile(file, copy .. '/doc/winnow.txt'))
      vim.cmd.helptags(copy .. '/doc')
      local tags = table.concat(vim.fn.readfile(copy .. '/doc/tags'), '\n')
      local function tagged(tag)
        assert(('\n' .. tags):find('\n' .. tag .. '\t', 1, true), 'no tag ' .. tag)
      end
      tagged(':Winnow')
      local config = require('winnow.config')
      for name in pairs(config.defaults) do
        tagged('winnow.' .. name)
      end
      tagged('winnow.complete')
      for action, keys in pairs(config.defaults.keys) do
        t.contains(text, '`' .. action .. '`')
        for _, key in ipairs(keys) do
          t.contains(text, key)
        end
      end
      for name, value in pairs(require('winnow')) do
        if type(value) == 'function' then
          tagged(('winnow.%s()'):format(name))
        end
      end
      for _, mode in ipairs(require('winnow.modes').names) do
        tagged(('<Plug>(winnow-%s)'):format(mode))
      end
      for link in text:gmatch('%s|([%w_.:<>()-]+)|') do
        local is_own_tag = ('\n' .. tags):find('\n' .. link .. '\t', 1, true)
        assert(
          is_own_tag or #vim.fn.getcompletion(link, 'help') > 0,
          'no help for |' .. link .. '|'
        )
      end
    end,
  },
}
