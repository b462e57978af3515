-- Telescope, fzf-lua and snacks, each if a folder with it is named: WINNOW_TELESCOPE (beside a
-- WINNOW_PLENARY), WINNOW_FZF_LUA, WINNOW_SNACKS.

local t = require('support')

---Put a plugin on the path, or skip the test.
---@param ... string names of environment variables
local function need(...)
  for _, name in ipairs({ ... }) do
    local folder = vim.env[name]
    if not folder or vim.fn.isdirectory(folder) == 0 then
      t.skip(('%s names no folder'):format(name))
    end
    vim.opt.runtimepath:append(folder)
  end
  t.shared_project()
  t.setup({ open_list = false })
  t.notified()
end

return {
  {
    'a picker that is not there is told, and loads nothing',
    function()
      t.shared_project()
      t.setup()
      local adapters = require('winnow.adapters')
      t.replace(adapters, 'found', function()
        return {}
      end)
      local said = t.notified()
      vim.cmd('Winnow grep picker=telescope a')
      t.contains(said[1][1], '`telescope` is not installed')
      t.equal(nil, package.loaded['winnow.adapters.telescope'])
    end,
  },
  {
    'telescope: :Telescope winnow shows results, goes to the exact place, fills the list',
    function()
      need('WINNOW_TELESCOPE', 'WINNOW_PLENARY')
      vim.cmd.runtime('plugin/telescope.lua')
      local state = require('telescope.actions.state')
      local actions = require('telescope.actions')
      local function picker()
        return t.wait('results in telescope', function()
          local buf = vim.iter(vim.api.nvim_list_bufs()):find(function(one)
            return vim.bo[one].filetype == 'TelescopePrompt'
          end)
          local found = buf and state.get_current_picker(buf)
          return found and found.manager and found.manager:num_results() > 0 and found
        end)
      end
      vim.cmd([[Telescope winnow grep query=plugin_sp]])
      local found = picker()
      t.wait('the selection', function()
        return state.get_selected_entry()
      end)
      t.equal('src/loader.py', state.get_selected_entry().value.path)
      actions.select_default(found.prompt_bufnr)
      t.contains(vim.api.nvim_buf_get_name(0), 'src/loader.py')
      local column = vim.fn.col('.')
      t.equal({ 6, 'plugin_sp' }, {
        vim.fn.line('.'),
        vim.api.nvim_get_current_line():sub(column, column + 8),
      })
      require('telescope').extensions.winnow.keyword({
        query = 'how are plugins loaded -- load_plugin register_plugin',
      })
      found = picker()
      t.wait('all results', function()
        return found.manager:num_results() >= 3
      end)
      t.contains(found.manager:get_entry(1).display, 'defines')
      local count = found.manager:num_results()
      for _, map in ipairs(vim.api.nvim_buf_get_keymap(found.prompt_bufnr, 'n')) do
        if map.lhs == '<C-Q>' then
          map.callback()
        end
      end
      t.equal(count, #vim.fn.getqflist())
      t.contains(vim.fn.getqflist({ title = 0 }).title, 'winnow keyword: how are plugins loaded')
    end,
  },
  {
    'snacks: results with reasons, and the exact place',
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
      picker:close()
      picker = open('Winnow grep picker=snacks plugin_sp')
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
