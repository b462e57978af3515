-- Telescope and snacks, each if an environment variable has its folder: WINNOW_TELESCOPE (with
-- WINNOW_PLENARY) and WINNOW_SNACKS. tests/ui tests fzf-lua.

local t = require('support')

---Add plugins to the runtime path, or skip the test.
---@param ... string names of environment variables
local function need(...)
  for _, name in ipairs({ ... }) do
    local folder = vim.env[name]
    if not folder or vim.fn.isdirectory(folder) == 0 then
      t.skip(('%s is not a folder'):format(name))
    end
    vim.opt.runtimepath:append(folder)
  end
  t.shared_project()
  t.setup({ open_list = false })
  t.notified()
end

---Run a Neovim whose plugin manager installs a clone of this repository. Return what it prints.
---@param manager? string the environment variable with the manager's folder
---@param setup string Lua code; `%s` is the address of the clone
---@return string
local function install(manager, setup)
  local folder = manager and vim.env[manager] or vim.env.VIMRUNTIME
  if manager and vim.fn.isdirectory(vim.env[manager] or '') == 0 then
    t.skip(manager .. ' is not a folder')
  end
  local home = vim.fn.tempname()
  -- A small repository, because a clone of the whole history takes long.
  local script = table.concat({
    'mkdir -p "$1/clone"',
    'cp -r "$2/nvim" "$2/plugin" "$1/clone"',
    'cd "$1/clone"',
    'rm -f nvim/doc/tags',
    'git init --quiet',
    'git add .',
    'git -c user.name=t -c user.email=t@localhost commit --quiet -m one',
    'git config uploadpack.allowFilter true',
  }, ' && ')
  local root = vim.fs.dirname(t.plugin)
  local made = vim.system({ 'sh', '-c', script, 'sh', home, root }, { text = true }):wait()
  t.equal(0, made.code, made.stderr)
  local init = home .. '/init.lua'
  t.write(
    init,
    ('vim.opt.rtp:prepend(%q)\n'):format(folder)
      .. setup:format('file://' .. home .. '/clone')
      .. [[

      vim.cmd('silent! Winnow log')
      vim.cmd('help winnow')
      print(vim.json.encode({
        vim.fs.basename(vim.api.nvim_buf_get_name(0)),
        vim.fn.line('.'),
        require('winnow.config').current.history,
        vim.lsp.config.winnow.cmd[2],
      }))
    ]]
  )
  local env = {}
  for _, name in ipairs({ 'STATE', 'DATA', 'CONFIG', 'CACHE' }) do
    env[('XDG_%s_HOME'):format(name)] = home .. '/' .. name:lower()
  end
  local command = { vim.v.progpath, '--headless', '-u', init, '-i', 'NONE', '+qa!' }
  local run = vim.system(command, { env = env, text = true }):wait()
  vim.fn.delete(home, 'rf')
  return run.stdout .. run.stderr
end

return {
  {
    'lazy.nvim installs the repository',
    function()
      local printed = install(
        'WINNOW_LAZY',
        [[
        require('lazy').setup({
{ url = %q, name = 'winnow', main = 'winnow', cmd = 'Winnow',
            opts = { history = 7 } },
        }, { rocks = { enabled = false } })
      ]]
      )
      t.contains(printed, '["winnow.txt",1,7,"serve"]')
    end,
  },
  {
    'mini.deps installs the repository',
    function()
      local printed = install(
        'WINNOW_MINI',
        [[
        require('mini.deps').setup()
        MiniDeps.add({ source = %q, name = 'winnow' })
        require('winnow').setup({ history = 7 })
      ]]
      )
      t.contains(printed, '["winnow.txt",1,7,"serve"]')
    end,
  },
  {
    'paq-nvim installs the repository',
    function()
      local printed = install(
        'WINNOW_PAQ',
        [[
        require('paq')({ { url = %q, as = 'winnow' } })
        local done = false
        vim.api.nvim_create_autocmd('User', {
          pattern = 'PaqDoneInstall',
          callback = function()
            done = true
          end,
        })
        vim.cmd('silent PaqInstall')
        vim.wait(30000, function()
          return done
        end)
        vim.cmd.packadd('winnow')
        require('winnow').setup({ history = 7 })
      ]]
      )
      t.contains(printed, '["winnow.txt",1,7,"serve"]')
    end,
  },
  {
    'vim.pack installs the repository',
    function()
      if not vim.pack then
        t.skip('Neovim has no vim.pack before 0.12')
      end
      local printed = install(
        nil,
        [[
        vim.pack.add({ { src = %q, name = 'winnow' } }, { load = true, confirm = false })
        require('winnow').setup({ history = 7 })
      ]]
      )
      t.contains(printed, '["winnow.txt",1,7,"serve"]')
    end,
  },
  {
    'the folder of a checkout on the runtime path is the plugin',
    function()
      local printed = install(
        nil,
        [[
        vim.opt.rtp:append(((%q):gsub('^file://', '')) .. '/nvim')
        vim.cmd.runtime('plugin/winnow.lua')
        require('winnow').setup({ history = 7 })
      ]]
      )
      t.contains(printed, '["winnow.txt",1,7,"serve"]')
    end,
  },
  {
    'a missing picker gives a message and loads nothing',
    function()
      t.shared_project()
      t.setup()
      local adapters = require('winnow.adapters')
      package.loaded['winnow.adapters.telescope'] = nil
      t.replace(adapters, 'installed', function()
        return {}
      end)
      local messages = t.notified()
      vim.cmd('Winnow grep picker=telescope a')
      t.contains(messages[1][1], '`telescope` is not installed')
      t.equal(nil, package.loaded['winnow.adapters.telescope'])
    end,
  },
  {
    'telescope: :Telescope winnow shows results, opens the exact place and fills the list',
    function()
      need('WINNOW_TELESCOPE', 'WINNOW_PLENARY')
      vim.cmd.runtime('plugin/telescope.lua')
      local state = require('telescope.actions.state')
      local actions = require('telescope.actions')
      local function picker()
        return t.wait('results in telescope', function()
          local buf = vim.iter(vim.api.nvim_list_bufs()):find(function(candidate)
            return vim.bo[candidate].filetype == 'TelescopePrompt'
          end)
          local current = buf and state.get_current_picker(buf)
          return current and current.manager and current.manager:num_results() > 0 and current
        end)
      end
      vim.cmd([[Telescope winnow grep query=plugin_sp]])
      local opened = picker()
      t.wait('the selection', function()
        return state.get_selected_entry()
      end)
      t.equal('src/loader.py', state.get_selected_entry().value.path)
      actions.select_default(opened.prompt_bufnr)
      t.contains(vim.api.nvim_buf_get_name(0), 'src/loader.py')
      local column = vim.fn.col('.')
      t.equal({ 6, 'plugin_sp' }, {
        vim.fn.line('.'),
        vim.api.nvim_get_current_line():sub(column, column + 8),
      })
      require('telescope').extensions.winnow.keyword({
        query = 'how are plugins loaded -- load_plugin register_plugin',
      })
      opened = picker()
      t.wait('all results', function()
        return opened.manager:num_results() >= 3
      end)
      t.wait('the summary in the title', function()
        return t.screen_text():find('keyword search: %d of %d files')
      end)
      local win = vim.fn.bufwinid(opened.results_bufnr)
      t.wait('the reason on the screen', function()
        return t.visible_text(win):find('loader.py:%d+  defines ')
      end)
      local name = t.attributes(win, 'loader.py')
      local reason = t.attributes(win, 'defines ')
      assert(name[1] ~= reason[1], 'the reason has its own color')
      local count = opened.manager:num_results()
      for _, map in ipairs(vim.api.nvim_buf_get_keymap(opened.prompt_bufnr, 'n')) do
        if map.lhs == '<C-Q>' then
          map.callback()
        end
      end
      t.equal(count, #vim.fn.getqflist())
      t.contains(vim.fn.getqflist({ title = 0 }).title, 'winnow keyword: how are plugins loaded')
    end,
  },
  {
    'snacks: the picker shows results with reasons and opens the exact place',
    function()
      need('WINNOW_SNACKS')
      require('snacks').setup({ picker = { enabled = true } })
      local function open(command)
        vim.cmd(command)
        local picker = t.wait('the picker', function()
          return require('snacks').picker.get()[1]
        end)
        t.wait('its items', function()
          return picker:count() > 0 and not picker:is_active()
        end)
        return picker
      end
      local picker = open('Winnow keyword picker=snacks plugins -- load_plugin register_plugin')
      local first = picker:items()[1]
      t.contains(first.text, 'defines')
      t.wait('the summary in the title', function()
        return t.screen_text():find('keyword search: %d of %d files')
      end)
      local list = picker.list.win.win
      t.wait('the reason on the screen', function()
        return t.visible_text(list):find('loader.py:%d+  defines ')
      end)
      picker:close()
      picker = open('Winnow grep picker=snacks plugin_sp')
      -- Insert mode can't end while a test runs.
      t.replace(require('winnow.place'), 'leave_insert', function(callback)
        callback()
      end)
      picker:action('confirm')
      t.wait('the file', function()
        return vim.api.nvim_buf_get_name(0):find('src/loader.py', 1, true)
      end)
      local column = vim.fn.col('.')
      t.equal({ 6, 'plugin_sp' }, {
        vim.fn.line('.'),
        vim.api.nvim_get_current_line():sub(column, column + 8),
      })
    end,
  },
}
