-- The text of documents in buffers, with the line and page.

local t = require('support')

local function project()
  local source = vim.fs.joinpath(t.plugin, '../docs/example/docs/handbook.pdf')
  local folder = t.shared_project('documents', { ['notes.txt'] = 'nothing\n' })
  vim.fn.mkdir(folder .. '/docs', 'p')
  assert(vim.uv.fs_copyfile(source, folder .. '/docs/hand book.pdf'))
  t.setup({ open_list = false })
  return folder
end

return {
  {
    'a hit opens the extracted text at its line and column and shows the page',
    function()
      local folder = project()
      vim.cmd('Winnow docs retention')
      local picker = t.finished_picker()
      t.equal(2, #picker.shown)
      t.contains(t.listed(picker)[2], 'hand book.pdf:9 (page 2, ')
      t.wait('the preview', function()
        local win = picker.windows.preview
        local buf = vim.api.nvim_win_get_buf(win)
        return vim.api.nvim_buf_get_lines(buf, 0, 1, false)[1] == '──── Page 1 ────'
      end)
      t.contains(t.visible_text(picker.windows.preview), '──── Page 1 ────')
      t.press_in(picker, '<C-n>')
      t.contains(t.marked(picker)[1], '(page 2, ')
      t.wait('the second preview', function()
        return t.visible_text(picker.windows.preview):find('hand book.pdf, page 2', 1, true)
      end)
      t.contains(t.visible_text(picker.windows.preview), 'Retention: releases are kept for ever')
      t.press_in(picker, '<CR>')
      t.equal('winnow-doc://' .. folder .. '/docs/hand%20book.pdf', vim.api.nvim_buf_get_name(0))
      t.equal({ 9, 0 }, vim.api.nvim_win_get_cursor(0))
      t.contains(vim.api.nvim_get_current_line(), 'Retention: releases are kept for ever')
      t.equal('page 2, Releases', require('winnow').place())
      local line = vim.api.nvim_eval_statusline(vim.wo.statusline, { winid = 0 }).str
      t.contains(line, '[page 2, Releases]')
      local screen = t.visible_text(0)
      t.contains(screen, '──── Page 2 ────')
      t.contains(screen, 'Retention: releases are kept for ever')
      t.contains(t.screen_text(), '[page 2, Releases]')
      t.equal(false, vim.bo.modifiable)
      local opened
      t.replace(vim.ui, 'open', function(path)
        opened = path
      end)
      require('winnow.document').open_original()
      t.equal(folder .. '/docs/hand book.pdf', opened)
    end,
  },
  {
    'list entries open the text too, and the page follows the line',
    function()
      project()
      local messages = t.notified()
      vim.cmd('Winnow! docs retention')
      t.wait('the list', function()
        return #messages > 0
      end)
      t.contains(vim.fn.getqflist()[2].text, 'page 2, Releases │ Retention: releases')
      vim.cmd.clast()
      t.equal(9, vim.fn.line('.'))
      vim.cmd.cfirst()
      t.equal({ 5, 'page 1, Plugins' }, { vim.fn.line('.'), require('winnow').place() })
      t.equal('', require('winnow.document').place(vim.fn.bufadd('notes.txt')))
    end,
  },
  {
    'a hit in a text file opens the file itself',
    function()
      local folder = project()
      vim.cmd('Winnow docs nothing')
      t.press_in(t.finished_picker(), '<CR>')
      t.equal(folder .. '/notes.txt', vim.api.nvim_buf_get_name(0))
      t.equal(true, vim.bo.modifiable)
    end,
  },
  {
    'a document without text shows the reason',
    function()
      local folder = project()
      t.write(folder .. '/broken.pdf', '%PDF-1.4 and no more\n')
      local messages = t.notified()
      vim.cmd.edit('winnow-doc://' .. folder .. '/broken.pdf')
      t.contains(vim.api.nvim_buf_get_lines(0, 0, 1, false)[1], 'Could not read this document: ')
      t.equal(vim.log.levels.ERROR, messages[#messages][2])
      t.contains(t.visible_text(0), 'Could not read this document: ')
      t.contains(t.error_of(require('winnow.document').open_original), 'not the text of a document')
      vim.fn.delete(folder .. '/broken.pdf')
    end,
  },
}
