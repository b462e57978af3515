-- Quickfix and location lists.

local t = require('support')

---Search into a list and wait for the final notification.
---@param command string
local function search(command)
  local messages = t.notified()
  vim.cmd(command)
  t.wait('the final notification', function()
    return #messages > 0
  end)
  return messages
end

return {
  {
    ':Winnow! fills the quickfix list with reasons, exact places, a title and a context',
    function()
      local folder = t.shared_project()
      t.setup()
      search('Winnow! keyword how are plugins loaded -- load_plugin\\b')
      local list = vim.fn.getqflist({ items = 0, title = 0, context = 0, winid = 0 })
      local first = list.items[1]
      t.equal(folder .. '/src/loader.py', vim.api.nvim_buf_get_name(first.bufnr))
      t.equal({ 5, 9 }, { first.lnum, first.col })
      t.contains(first.text, 'defines load_plugin')
      t.contains(first.text, ' │ def load_plugin(self, name):')
      t.contains(list.title, 'winnow keyword: how are plugins loaded [')
      t.contains(list.title, '[1 of 1 file]')
      t.equal('keyword', list.context.winnow.mode)
      t.equal({ 'load_plugin\\b' }, list.context.winnow.terms)
      assert(list.context.winnow.search_id)
      assert(list.winid > 0, 'the window is open')
      local rows = t.visible(list.winid)
      t.contains(rows[1], 'src/loader.py|5 col 9|')
      t.contains(rows[1], 'defines load_plugin')
      t.contains(rows[1], ' │ def load_plugin(self, name):')
      t.equal('', vim.bo.buftype, 'and the cursor is not in it')
    end,
  },
  {
    'each search creates a new list, and :colder returns to the earlier one',
    function()
      t.shared_project()
      t.setup()
      search('Winnow! grep register_plugin')
      search('Winnow! grep Loader')
      t.contains(vim.fn.getqflist({ title = 0 }).title, 'winnow grep: Loader')
      local win = vim.fn.getqflist({ winid = 0 }).winid
      t.contains(t.visible_text(win), 'class Loader:')
      vim.cmd.colder()
      t.contains(vim.fn.getqflist({ title = 0 }).title, 'winnow grep: register_plugin')
      vim.cmd.cfirst()
      t.contains(vim.api.nvim_get_current_line(), 'register_plugin')
      t.contains(t.visible_text(win), 'register_plugin')
      assert(not t.visible_text(win):find('class Loader', 1, true))
    end,
  },
  {
    'a location list belongs to the window of the command, and :lolder returns to earlier ones',
    function()
      t.shared_project()
      t.setup({ open_list = false })
      vim.cmd.split()
      local win = vim.api.nvim_get_current_win()
      search('Winnow grep list=loclist register_plugin')
      search('Winnow grep list=loclist path=src registry')
      t.equal(0, #vim.fn.getqflist())
      local items = vim.fn.getloclist(win)
      assert(#items >= 2)
      vim.cmd.lolder()
      t.contains(vim.fn.getloclist(win, { title = 0 }).title, 'register_plugin')
      vim.cmd.wincmd('p')
      t.equal(0, #vim.fn.getloclist(0), 'another window has none')
    end,
  },
  {
    'columns of a list are bytes, so the cursor is on the match',
    function()
      t.shared_project()
      t.setup({ open_list = false })
      search('Winnow! grep plugin_sp')
      vim.cmd.cfirst()
      local column = vim.fn.col('.')
      t.contains(vim.api.nvim_get_current_line():sub(column), 'plugin_spä')
      t.equal(1, vim.api.nvim_get_current_line():sub(column):find('plugin_spä', 1, true))
    end,
  },
  {
    'a search without results creates no list and reports what was left out',
    function()
      t.shared_project()
      t.setup()
      local messages = search('Winnow! grep load_plugin_from_cache')
      t.equal(0, vim.fn.getqflist({ nr = '$' }).nr)
      t.contains(messages[1][1], 'winnow: no results')
      t.contains(messages[1][1], 'include_ignored')
      t.equal(vim.log.levels.WARN, messages[1][2])
      local failed = search('Winnow! grep (')
      t.contains(failed[1][1], 'unclosed group')
      t.equal(vim.log.levels.ERROR, failed[1][2])
    end,
  },
  {
    'the current entry stays current while a list is filled',
    function()
      local files = {}
      for number = 1, 60 do
        files[('f%03d.txt'):format(number)] = 'words\n'
      end
      t.project(files)
      t.setup({ open_list = false })
      local search_stub = { mode = 'grep', request = { query = 'words' } }
      function search_stub.details()
        return {}
      end
      local items = {}
      for number = 1, 60 do
        local path = ('f%03d.txt'):format(number)
        items[number] =
          { file = vim.uv.cwd() .. '/' .. path, lnum = 1, col = 1, text = 'words', reason = '' }
      end
      local list = require('winnow.lists').new('quickfix')
      list:write(search_stub, vim.list_slice(items, 1, 20))
      vim.cmd('cc 7')
      list:write(search_stub, items)
      t.equal({ 7, 60 }, { vim.fn.getqflist({ idx = 0 }).idx, #vim.fn.getqflist() })
      t.equal(1, vim.fn.getqflist({ nr = '$' }).nr, 'it is still the same list')
    end,
  },
}
