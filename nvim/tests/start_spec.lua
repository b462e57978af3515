-- Startup of the plugin, which does nothing before the first command, and of the server.

local t = require('support')

---Run Lua code in a new Neovim with the plugin on its path. Return the JSON value it prints.
---@param lua string
---@return any
local function in_new_neovim(lua)
  local script = vim.fn.tempname() .. '.lua'
  t.write(script, lua)
  local run = vim
    .system({
      vim.v.progpath,
      '--headless',
      '-u',
      'NONE',
      '-i',
      'NONE',
      '--cmd',
      'set rtp^=' .. vim.fn.fnameescape(t.plugin),
      '-l',
      script,
    }, { text = true })
    :wait()
  assert(run.code == 0, run.stderr)
  return vim.json.decode(run.stdout ~= '' and run.stdout or run.stderr)
end

---Attach a language server that says that everything is in the first line.
---@return vim.lsp.Client
local function another_server()
  local is_closing = false
  local function respond(method, params)
    if method == 'initialize' then
      return {
        capabilities = {
          definitionProvider = true,
          referencesProvider = true,
          textDocumentSync = 1,
        },
      }
    elseif vim.startswith(method, 'textDocument/') then
      local first = { line = 0, character = 0 }
      return { { uri = params.textDocument.uri, range = { start = first, ['end'] = first } } }
    end
  end
  local id = vim.lsp.start({
    name = 'another',
    root_dir = vim.uv.cwd(),
    cmd = function()
      return {
        request = function(method, params, callback)
          callback(nil, respond(method, params))
          return true, 1
        end,
        notify = function()
          return true
        end,
        is_closing = function()
          return is_closing
        end,
        terminate = function()
          is_closing = true
        end,
      }
    end,
  })
  return assert(vim.lsp.get_client_by_id(assert(id)))
end

return {
  {
    'the plugin file loads no module, starts nothing and changes no handler',
    function()
      local result = in_new_neovim([[
        local handlers = vim.tbl_extend('force', {}, vim.lsp.handlers)
        local loaded = vim.tbl_keys(package.loaded)
        vim.cmd.runtime('plugin/winnow.lua')
        local new = vim.tbl_filter(function(name)
          return not vim.list_contains(loaded, name)
        end, vim.tbl_keys(package.loaded))
        local changed = {}
        for name, handler in pairs(vim.lsp.handlers) do
          if handlers[name] ~= handler then changed[#changed + 1] = name end
        end
        print(vim.json.encode({
          new = vim.tbl_filter(function(name) return name:find('winnow') ~= nil end, new),
          changed = changed,
          clients = #vim.lsp.get_clients(),
          command = vim.fn.exists(':Winnow'),
          keys = vim.fn.maparg('<Plug>(winnow-keyword)', 'n') ~= '',
          mapped = vim.iter(vim.api.nvim_get_keymap('n')):any(function(map)
            return (map.desc or ''):find('Winnow') ~= nil and not map.lhs:find('^<Plug>')
          end),
        }))
      ]])
      t.equal({
        new = {},
        changed = {},
        clients = 0,
        command = 2,
        keys = true,
        mapped = false,
      }, result)
    end,
  },
  {
    "require('winnow') loads one module, starts nothing and takes few instructions",
    function()
      -- Count Lua instructions: unlike time, their number is the same on every machine.
      local result = in_new_neovim([[
        local before = vim.tbl_keys(package.loaded)
        local steps = 0
        jit.off()
        debug.sethook(function()
          steps = steps + 1
        end, '', 1)
        require('winnow')
        debug.sethook()
        local new = vim.tbl_filter(function(name)
          return not vim.list_contains(before, name)
        end, vim.tbl_keys(package.loaded))
        local children = #vim.api.nvim_get_proc_children(vim.fn.getpid())
        print(vim.json.encode({ steps = steps, new = new, children = children }))
      ]])
      t.equal({ 'winnow' }, result.new)
      t.equal(0, result.children)
      -- Usually about 160.
      assert(result.steps < 500, ('require took %d instructions'):format(result.steps))
    end,
  },
  {
    'every module except the adapters of other plugins loads without other plugins',
    function()
      local result = in_new_neovim([[
        vim.cmd.runtime('plugin/winnow.lua')
        local before = vim.tbl_keys(package.loaded)
        local names = vim.api.nvim_get_runtime_file('lua/winnow/**/*.lua', true)
        for _, file in ipairs(names) do
          if not file:find('types.lua') and not file:find('adapters/[^i]') then
            require((file:match('lua/(winnow.*)%.lua$'):gsub('/', '.'):gsub('%.init$', '')))
          end
        end
        local foreign = vim.tbl_filter(function(name)
          return not name:find('^winnow') and not name:find('^vim%.')
            and not vim.list_contains(before, name)
        end, vim.tbl_keys(package.loaded))
        print(vim.json.encode({ count = #names, foreign = foreign }))
      ]])
      assert(result.count > 15, result.count)
      t.equal({}, result.foreign)
    end,
  },
  {
    'the whole repository can be installed as a plugin, with its help',
    function()
      local script = t.plugin .. '/../plugin/winnow.lua'
      local result = in_new_neovim(([[
        vim.opt.runtimepath:remove(%q)
        dofile(%q)
        vim.cmd('help winnow')
        io.stdout:write(vim.json.encode({
          command = vim.fn.exists(':Winnow'),
          help = vim.api.nvim_buf_get_name(0),
          server = vim.lsp.config.winnow.cmd[2],
          setup = type(require('winnow').setup),
        }))
      ]]):format(t.plugin, vim.fs.normalize(vim.fn.resolve(script))))
      t.equal({ 2, 'serve', 'function' }, { result.command, result.server, result.setup })
      t.equal('winnow.txt', vim.fs.basename(result.help))
    end,
  },
  {
    'vim.lsp.enable starts the server for a file in a project, with its settings',
    function()
      local folder = t.project()
      t.setup(nil, { settings = { winnow = { index = { enabled = false } } } })
      vim.lsp.enable('winnow')
      vim.cmd.edit(folder .. '/src/loader.py')
      vim.bo.filetype = 'python'
      local client = t.wait('a client', function()
        local client = vim.lsp.get_clients({ name = 'winnow', bufnr = 0 })[1]
        return client and client.initialized and client
      end)
      t.equal(folder, client.root_dir)
      local requests = client.server_capabilities.experimental.winnow.requests
      assert(vim.list_contains(requests, '$/keywordSearch'))
      t.equal(true, client:supports_method('textDocument/definition'))
      vim.lsp.enable('winnow', false)
      t.wait('the client to end', function()
        return client:is_stopped()
      end)
    end,
  },
  {
    'an enabled server sees unsaved text in all files, also after a restart',
    function()
      local folder = t.project()
      t.setup()
      vim.lsp.enable('winnow')
      t.at_end(function()
        vim.lsp.enable('winnow', false)
      end)
      vim.cmd.edit(folder .. '/src/loader.py')
      vim.bo.filetype = 'python'
      local client = t.wait('a client', function()
        local client = vim.lsp.get_clients({ name = 'winnow', bufnr = 0 })[1]
        return client and client.initialized and client
      end)
      vim.api.nvim_buf_set_lines(0, 0, 0, false, { '# never_saved' })
      vim.cmd('hide edit ' .. folder .. '/notes')
      t.equal('', vim.bo.filetype)
      vim.api.nvim_buf_set_lines(0, 0, 0, false, { 'never_saved' })
      local function found()
        vim.cmd('Winnow grep never_saved')
        local picker = t.finished_picker()
        local paths = t.paths(picker.shown)
        picker:close()
        return vim.fn.sort(paths)
      end
      t.equal({ 'notes', 'src/loader.py' }, found())
      client:stop()
      t.wait('the end of the client', function()
        return client:is_stopped()
      end)
      t.equal({ 'notes', 'src/loader.py' }, found())
    end,
  },
  {
    'beside another language server, standard methods are answered only where that one does not',
    function()
      local folder = t.project()
      t.setup()
      vim.lsp.enable('winnow')
      vim.cmd.edit(folder .. '/src/loader.py')
      vim.bo.filetype = 'python'
      local client = t.wait('a client', function()
        local client = vim.lsp.get_clients({ name = 'winnow', bufnr = 0 })[1]
        return client and client.initialized and client
      end)
      local function supports(method)
        return client:supports_method(method, vim.api.nvim_get_current_buf())
      end
      vim.fn.cursor(5, 9)
      vim.lsp.buf.references()
      t.wait('references', function()
        return #vim.fn.getqflist() > 0
      end)
      local alone = #vim.fn.getqflist()
      vim.cmd.cclose()
      local other = another_server()
      t.equal({ false, false, true }, {
        supports('textDocument/definition'),
        supports('textDocument/references'),
        supports('workspace/symbol'),
      })
      vim.fn.setqflist({}, 'f')
      vim.lsp.buf.references()
      t.wait('references', function()
        return #vim.fn.getqflist() > 0
      end)
      t.equal(1, #vim.fn.getqflist(), 'only those of the other server')
      t.contains(vim.fn.getqflist()[1].text, 'class Loader:')
      vim.cmd.cclose()
      vim.lsp.buf.definition()
      t.wait('the definition', function()
        return vim.fn.line('.') == 1
      end)
      t.equal(0, vim.fn.getqflist({ winid = 0 }).winid, 'it jumps, without a list')
      require('winnow').setup({ standard_methods = 'always' })
      t.equal(true, supports('textDocument/references'))
      require('winnow').setup({ standard_methods = 'never' })
      t.equal({ false, false }, {
        supports('textDocument/references'),
        supports('workspace/symbol'),
      })
      require('winnow').setup()
      other:stop()
      t.wait('the other server to end', function()
        return other:is_stopped()
      end)
      t.equal(true, supports('textDocument/references'))
      assert(alone > 1)
      vim.lsp.enable('winnow', false)
    end,
  },
  {
    'a server that cannot be started gives a message with the solution',
    function()
      t.project()
      t.setup(nil, { cmd = { 'no-such-winnow', 'serve' } })
      local messages = t.notified()
      vim.cmd('Winnow! grep plugin')
      t.wait('a message', function()
        return #messages > 0
      end)
      t.contains(messages[1][1], '`no-such-winnow` not found')
      t.contains(messages[1][1], 'vim.lsp.config')
      t.equal(vim.log.levels.ERROR, messages[1][2])
    end,
  },
  {
    'a server that exits during startup gives a message',
    function()
      t.project()
      t.setup(nil, { cmd = { 'false' } })
      t.replace(vim.lsp.log, 'error', function() end)
      local messages = t.notified()
      vim.cmd('Winnow! grep plugin')
      t.wait('a message', function()
        return vim.iter(messages):any(function(message)
          return message[1]:find('during startup', 1, true) ~= nil
        end)
      end)
    end,
  },
  {
    'only a server that crashes gives a message, and the next search starts another one',
    function()
      local folder = t.project()
      t.setup()
      local messages = t.notified()
      local function children()
        return vim.api.nvim_get_proc_children(vim.fn.getpid())
      end
      ---@return vim.lsp.Client client
      ---@return integer pid
      local function started()
        local before = children()
        vim.cmd('Winnow grep load_plugin')
        t.finished_picker():close()
        local client = vim.iter(vim.lsp.get_clients({ name = 'winnow' })):find(function(each)
          return each.root_dir == folder
        end)
        local pid = vim.iter(children()):find(function(each)
          return not vim.list_contains(before, each)
        end)
        return client, pid
      end
      ---@param client vim.lsp.Client
      local function wait_for_exit(client)
        t.wait('the exit of the server', function()
          return client:is_stopped()
        end)
      end

      local client = started()
      client:stop(true)
      wait_for_exit(client)
      local pid
      client, pid = started()
      t.equal({}, messages)
      vim.uv.kill(pid, 'sigkill')
      wait_for_exit(client)
      t.wait("Neovim's message", function()
        return #messages > 0
      end)
      t.contains(messages[1][1], 'Client winnow quit')
      vim.cmd('Winnow grep load_plugin')
      t.equal('src/loader.py', t.finished_picker().search.items[1].path)
    end,
  },
}
