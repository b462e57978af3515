-- Convert the server's columns to Neovim's, and open places in windows.

local M = {}

---Convert a column in code points, from 1, to a byte column, from 0, at most the line's length.
---@param line string
---@param column integer
---@return integer
function M.byte_column(line, column)
  return vim.str_byteindex(line, 'utf-32', math.max(column - 1, 0), false)
end

---Return the loaded buffer of a file. `bufnr()` would interpret the name as a pattern.
---@param file string
---@return integer?
function M.loaded_buffer(file)
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    if vim.api.nvim_buf_is_loaded(buf) and vim.api.nvim_buf_get_name(buf) == file then
      return buf
    end
  end
end

---Return an item's byte column, from 1, or 0 if it has no column. Read the line if the answer cut
---it.
---@param item winnow.Item
---@return integer
function M.list_column(item)
  if not item.col then
    return 0
  end
  local line = item.text
  if item.text_column or line == '' then
    local buf = M.loaded_buffer(item.file)
    if buf then
      line = vim.api.nvim_buf_get_lines(buf, item.lnum - 1, item.lnum, false)[1] or ''
    elseif vim.fn.filereadable(item.file) == 1 then
      line = vim.fn.readfile(item.file, '', item.lnum)[item.lnum] or ''
    end
  end
  return M.byte_column(line, item.col) + 1
end

---Return the folder of an item, which is empty at the top, and the name of its file.
---@param item winnow.Item
---@return string folder
---@return string name
function M.split(item)
  local start = item.repository and #item.repository + 2 or 1
  local name = item.path:sub(start):match('[^/]*$') or ''
  return (item.path:sub(1, #item.path - #name):gsub('/$', '')), name
end

---Return true if the file of an item neither exists any more nor has a buffer. The server's texts
---are no files.
---@param item winnow.Item
---@return boolean
function M.is_deleted(item)
  return not require('winnow.repository').is_virtual(item.file)
    and not M.loaded_buffer(item.file)
    and not vim.uv.fs_stat(item.file)
end

---Return the line nearest to another one that matches a pattern.
---@param lines string[]
---@param pattern string
---@param start integer
---@return integer?
local function nearest(lines, pattern, start)
  for distance = 0, math.max(start, #lines) do
    for _, lnum in ipairs({ start - distance, start + distance }) do
      if lines[lnum] and lines[lnum]:find(pattern) then
        return lnum
      end
    end
  end
end

---Find the line of an item in a buffer: its own line or, if the file has changed since the search,
---the nearest one with the same text.
---@param buf integer
---@param item winnow.Item
---@param offset integer number of lines of the file before the buffer's first line
---@return integer lnum the line, or the nearest one if it is no longer there
---@return boolean is_found
function M.find_line(buf, item, offset)
  local expected = item.lnum - offset
  local line = vim.api.nvim_buf_get_lines(buf, expected - 1, expected, false)[1]
  -- Without a text to compare, any line is the right one.
  for _, pattern in ipairs(item.line_patterns or { '' }) do
    if line and line:find(pattern) then
      return expected, true
    end
  end
  local lines = vim.api.nvim_buf_get_lines(buf, 0, -1, false)
  for _, pattern in ipairs(item.line_patterns or {}) do
    local lnum = nearest(lines, pattern, expected)
    if lnum then
      return lnum, true
    end
  end
  return math.max(1, math.min(expected, #lines)), false
end

---Return a file's name relative to the working folder, as Neovim shows names.
---@param file string
---@return string
function M.short_name(file)
  return vim.fn.fnamemodify(file, ':.')
end

local COMMANDS = { split = 'split', vsplit = 'vsplit', tab = 'tab split' }

---Return true if a file can replace what a window shows: not in a list, terminal or side bar, not
---in a floating window, and not beside a file that it is compared with.
---@param win integer
---@return boolean
local function is_suitable(win)
  return vim.api.nvim_win_get_config(win).relative == ''
    and not vim.wo[win].winfixbuf
    and not vim.wo[win].diff
    and not vim.wo[win].previewwindow
    and vim.list_contains({ '', 'help' }, vim.bo[vim.api.nvim_win_get_buf(win)].buftype)
end

---Go to a window where a file can be opened: the current one, the previous one, another one of this
---tab, or a new one.
local function enter_suitable_window()
  local current = vim.api.nvim_get_current_win()
  local previous = vim.fn.win_getid(vim.fn.winnr('#'))
  local candidates = { current, previous }
  vim.list_extend(candidates, vim.api.nvim_tabpage_list_wins(0))
  for _, win in ipairs(candidates) do
    if win ~= 0 and is_suitable(win) then
      return vim.api.nvim_set_current_win(win)
    end
  end
  vim.api.nvim_open_win(vim.api.nvim_create_buf(true, false), true, { split = 'above', win = -1 })
  vim.wo.winfixbuf, vim.wo.diff, vim.wo.winfixheight = false, false, false
end

---Open an item in the current window, if a file can replace what it shows, or in a new one. Warn if
---the file was deleted, or no longer has the line.
---@param item winnow.Item
---@param how? 'split'|'vsplit'|'tab'
function M.open(item, how)
  if M.is_deleted(item) then
    return require('winnow.message').warn(item.path .. ' was deleted')
  end
  enter_suitable_window()
  if how then
    vim.cmd(COMMANDS[how])
  end
  vim.cmd("normal! m'")
  local buf = vim.fn.bufadd(M.short_name(item.file))
  vim.bo[buf].buflisted = true
  local ok, problem = pcall(vim.api.nvim_win_set_buf, 0, buf)
  if not ok then
    return require('winnow.message').fail(tostring(problem))
  end
  local lnum, is_found = M.find_line(buf, item, 0)
  if not is_found then
    require('winnow.message').warn(item.path .. ' has changed and no longer has this line')
  end
  local line = vim.api.nvim_buf_get_lines(buf, lnum - 1, lnum, false)[1] or ''
  local column = item.col and M.byte_column(line, item.col) or #line:match('^%s*')
  vim.api.nvim_win_set_cursor(0, { lnum, column })
  vim.cmd('normal! zvzz')
end

---Leave insert mode, then call back. Leaving it moves the cursor left, which must not happen in the
---window where the callback opens a file, so wait for the mode change.
---@param callback fun()
function M.leave_insert(callback)
  if not vim.startswith(vim.api.nvim_get_mode().mode, 'i') then
    return callback()
  end
  vim.api.nvim_create_autocmd('ModeChanged', {
    pattern = 'i*:n*',
    once = true,
    callback = vim.schedule_wrap(callback),
  })
  vim.cmd.stopinsert()
end

return M
