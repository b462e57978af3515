-- Preview an item: its file around the line, including unsaved changes, with the match highlighted.
-- The last files stay in memory, and are read again only if they changed.

local client = require('winnow.client')
local config = require('winnow.config')
local place = require('winnow.place')

local M = {}

local NAMESPACE = vim.api.nvim_create_namespace('winnow-preview')
-- For larger files, the preview requests the lines around the item from the server.
local MAX_FILE_BYTES = 256 * 1024
local CONTEXT_LINES = 200
-- Highlighting files with longer lines is too slow to be worthwhile.
local MAX_LINE_BYTES = 5000
-- Number of files to keep.
local MAX_KEPT = 20
-- While a key is held down, only the item where it stops is shown.
local MOVING_MS = 40
-- Columns to scroll sideways.
local SIDEWAYS = 10

---The lines of a file or a part of one, in a buffer.
---@class winnow.PreviewText
---@field buf integer
---@field stamp string changes with the file
---@field offset integer number of lines of the file before the buffer's first line

---@class winnow.Preview
---@field private _windows winnow.Windows
---@field private _folder string
---@field private _item? winnow.Item the item to show
---@field private _cancel? fun()
---@field private _texts table<string, winnow.PreviewText?> by file
---@field private _order string[] the files in `_texts`, the last shown last
---@field private _shown_at integer time of the last request to show an item
---@field private _timer uv.uv_timer_t
---@field private _page? integer the buffer of a text that is shown instead of the item
---@field private _page_title? string
local Preview = {}
Preview.__index = Preview

---@param windows winnow.Windows
---@param folder string
---@return winnow.Preview
function M.new(windows, folder)
  return setmetatable({
    _windows = windows,
    _folder = folder,
    _texts = {},
    _order = {},
    _shown_at = 0,
    _timer = assert(vim.uv.new_timer()),
  }, Preview)
end

---@param text string
---@return string[]
local function lines_of(text)
  -- Check with JSON instead of iconv: some builds can't convert UTF-8 to UTF-8.
  if not pcall(vim.fn.json_encode, text) then
    text = vim.iconv(text, 'latin1', 'utf-8') or text
  end
  text = text:gsub('\r\n', '\n'):gsub('%z', '␀')
  return vim.split((text:gsub('\n$', '')), '\n')
end

---Return the stamp of a small or open file, which changes with its text, and a function that reads
---its lines; or nil for any other.
---@param file string
---@return string? stamp
---@return (fun(): string[]?)? read
local function local_text(file)
  local buf = place.loaded_buffer(file)
  if buf then
    return ('%d %d'):format(buf, vim.api.nvim_buf_get_changedtick(buf)),
      function()
        return vim.api.nvim_buf_get_lines(buf, 0, -1, false)
      end
  end
  local stat = vim.uv.fs_stat(file)
  if not stat or stat.type ~= 'file' or stat.size > MAX_FILE_BYTES then
    return nil
  end
  return ('%d %d.%d'):format(stat.size, stat.mtime.sec, stat.mtime.nsec),
    function()
      local opened = io.open(file, 'rb')
      local text = opened and opened:read('*a')
      if opened then
        opened:close()
      end
      return text and lines_of(text)
    end
end

---@param buf integer
---@param file string
---@param lines string[]
local function highlight_syntax(buf, file, lines)
  for _, line in ipairs(lines) do
    if #line > MAX_LINE_BYTES then
      return
    end
  end
  local kind = vim.filetype.match({ filename = file, buf = buf })
  if not kind then
    return
  end
  local language = vim.treesitter.language.get_lang(kind) or kind
  -- Setting 'filetype' would start servers and plugins for the preview.
  if not pcall(vim.treesitter.start, buf, language) then
    vim.bo[buf].syntax = kind
  end
end

---@param buf integer
---@param lnum integer
---@return string? line nil if the buffer does not have it
local function line_at(buf, lnum)
  return lnum >= 1 and vim.api.nvim_buf_get_lines(buf, lnum - 1, lnum, false)[1] or nil
end

---@param buf integer
---@param ranges winnow.Range[]
---@param offset integer number of lines of the file before the buffer's first line
local function highlight_matches(buf, ranges, offset)
  vim.api.nvim_buf_clear_namespace(buf, NAMESPACE, 0, -1)
  for _, range in ipairs(ranges) do
    local first = range.lnum - offset
    local last = (range.end_lnum or range.lnum) - offset
    local first_line = line_at(buf, first)
    local last_line = line_at(buf, last)
    if first_line and last_line then
      vim.api.nvim_buf_set_extmark(
        buf,
        NAMESPACE,
        first - 1,
        place.byte_column(first_line, range.first),
        {
          end_row = last - 1,
          end_col = place.byte_column(last_line, range.last),
          hl_group = 'WinnowMatch',
          priority = 200,
        }
      )
    end
  end
end

---Scroll a window sideways if the first match in its current line is not visible.
---@param win integer
---@param ranges winnow.Range[]
---@param offset integer number of lines of the file before the buffer's first line
local function scroll_to_match(win, ranges, offset)
  local lnum = vim.api.nvim_win_get_cursor(win)[1] --[[@as integer]]
  local range = vim.iter(ranges):find(function(each)
    return each.lnum - offset == lnum
  end)
  local line = line_at(vim.api.nvim_win_get_buf(win), lnum)
  if not range or not line then
    return
  end
  local first = vim.fn.virtcol({ lnum, place.byte_column(line, range.first) + 1 }, false, win)
  local last = range.end_lnum and first or first + range.last - range.first
  local numbers = assert(vim.fn.getwininfo(win)[1]).textoff
  local width = vim.api.nvim_win_get_width(win) - numbers
  if last > width then
    -- The cursor must be in the visible part of its line.
    vim.api.nvim_win_set_cursor(win, { lnum, place.byte_column(line, range.first) })
    local leftcol = math.max(0, first - math.floor(width / 2)) --[[@as integer]]
    vim.fn.winrestview({ leftcol = leftcol })
  end
end

---Keep lines in a buffer.
---@param item winnow.Item
---@param stamp string
---@param lines string[]
---@param offset integer
---@return winnow.PreviewText
function Preview:_keep(item, stamp, lines, offset)
  self:_forget(item.file)
  local buf = vim.api.nvim_create_buf(false, true)
  vim.bo[buf].bufhidden = 'hide'
  vim.api.nvim_buf_set_lines(buf, 0, -1, false, lines)
  highlight_syntax(buf, item.file, lines)
  local text = { buf = buf, stamp = stamp, offset = offset }
  self._texts[item.file] = text
  self._order[#self._order + 1] = item.file
  if #self._order > MAX_KEPT then
    self:_forget(self._order[1])
  end
  return text
end

---@param file string
function Preview:_forget(file)
  local text = self._texts[file]
  if text then
    self._texts[file] = nil
    self._order = vim.tbl_filter(function(kept)
      return kept ~= file
    end, self._order)
    -- Windows still show it until the next text replaces it.
    vim.bo[text.buf].bufhidden = 'wipe'
    if #vim.fn.win_findbuf(text.buf) == 0 then
      vim.api.nvim_buf_delete(text.buf, { force = true })
    end
  end
end

---@return integer? window
function Preview:_window()
  local win = self._windows.preview
  return win and vim.api.nvim_win_is_valid(win) and win or nil
end

---Show a text that is no file, with complete lines and without their numbers.
---@param win integer
---@param lines string[]
---@return integer buf
local function show_text(win, lines)
  local buf = vim.api.nvim_create_buf(false, true)
  vim.bo[buf].bufhidden = 'wipe'
  vim.api.nvim_buf_set_lines(buf, 0, -1, false, lines)
  vim.api.nvim_win_set_buf(win, buf)
  vim.wo[win].number, vim.wo[win].cursorline, vim.wo[win].statuscolumn = false, false, ''
  vim.wo[win].wrap, vim.wo[win].linebreak = true, true
  return buf
end

---@param item winnow.Item
---@param text winnow.PreviewText
function Preview:_show(item, text)
  local win = self:_window()
  if self._item ~= item or not win or self._page then
    return
  end
  vim.api.nvim_win_set_buf(win, text.buf)
  vim.wo[win].number = true
  -- The buffer of a large file begins in the middle of it.
  vim.wo[win].statuscolumn = text.offset == 0 and '' or ('%%=%%{v:lnum + %d} '):format(text.offset)
  vim.wo[win].wrap = false
  vim.wo[win].cursorline = true
  local lnum, is_found = place.find_line(text.buf, item, text.offset)
  highlight_matches(text.buf, is_found and item.matches or {}, item.lnum - lnum)
  vim.api.nvim_win_set_cursor(win, { lnum, 0 })
  vim.api.nvim_win_call(win, function()
    vim.cmd('normal! zz0')
    scroll_to_match(win, is_found and item.matches or {}, item.lnum - lnum)
  end)
  local where = item.place and ('%s, %s'):format(item.path, item.place) or item.path
  self._windows:set_title('preview', where)
  self._windows:set_footer('preview', item.reason, 'WinnowReason', '')
end

---Show why an item has no preview.
---@param item winnow.Item
---@param problem string
function Preview:_show_problem(item, problem)
  local win = self:_window()
  if self._item ~= item or not win or self._page then
    return
  end
  show_text(win, { problem })
  self._windows:set_title('preview', item.path)
  self._windows:set_footer('preview', item.reason, 'WinnowReason', '')
end

---@param item winnow.Item
---@param stamp string
---@param method string
---@param params table
---@param extract fun(answer: table): string, integer returns the text and its first line's number
function Preview:_fetch(item, stamp, method, params, extract)
  local running = client.running(self._folder)
  if not running then
    return
  end
  self._cancel = client.request(running, method, params, {
    done = function(answer, problem)
      if not answer then
        return self:_show_problem(item, problem --[[@as string]])
      end
      local text, start = extract(answer)
      self:_show(item, self:_keep(item, stamp, lines_of(text), start - 1))
    end,
    progress = false,
  })
end

---Show the item, from memory if it is there.
---@param item winnow.Item
function Preview:_load(item)
  if place.is_deleted(item) then
    return self:_show_problem(item, 'This file was deleted.')
  end
  local kept = self._texts[item.file]
  local stamp, read = local_text(item.file)
  if stamp and read then
    if kept and kept.stamp == stamp then
      return self:_show(item, kept)
    end
    local lines = read()
    return lines and self:_show(item, self:_keep(item, stamp, lines, 0))
  end
  local start = math.max(1, item.lnum - CONTEXT_LINES)
  stamp = ('from %d'):format(start)
  if kept and kept.stamp == stamp then
    return self:_show(item, kept)
  end
  if vim.startswith(item.file, 'winnow-doc://') then
    local params = { path = item.file, start = start, ['end'] = item.lnum + CONTEXT_LINES }
    return self:_fetch(item, stamp, '$/documentText', params, function(answer)
      return answer.text, answer.start
    end)
  end
  local spans = { { start = start, ['end'] = item.lnum + CONTEXT_LINES } }
  local file = require('winnow.repository').params(item.file) or { path = item.file }
  local params = vim.tbl_extend('force', file, { spans = spans })
  self:_fetch(item, stamp, '$/readFile', params, function(answer)
    local chunk = answer.chunks[1] or { content = '', start = 1 }
    return chunk.content, chunk.start
  end)
end

---Show an item, or an empty preview.
---@param item? winnow.Item
function Preview:show(item)
  if self._item == item and (item or self._page) then
    return
  end
  self._item, self._page = item, nil
  if self._cancel then
    self._cancel()
    self._cancel = nil
  end
  self._timer:stop()
  if not item or item.path == '' then
    return self:_clear()
  end
  local now = vim.uv.now()
  local is_moving = now - self._shown_at < MOVING_MS
  self._shown_at = now
  if not self:_window() then
    return
  elseif not is_moving then
    return self:_load(item)
  end
  self._timer:start(
    MOVING_MS,
    0,
    vim.schedule_wrap(function()
      if self._item == item and self:_window() then
        self:_load(item)
      end
    end)
  )
end

function Preview:_clear()
  local win = self:_window()
  if win then
    local empty = vim.api.nvim_create_buf(false, true)
    vim.bo[empty].bufhidden = 'wipe'
    vim.api.nvim_win_set_buf(win, empty)
    self._windows:set_title('preview', '')
    self._windows:set_footer('preview', '', 'WinnowReason', '')
  end
end

---Show lines instead of the item, until another item is shown; or the item again if they are shown.
---@param title string
---@param lines string[]
---@return boolean shown false if the screen is too small for a preview
function Preview:toggle_page(title, lines)
  if self._page and self._page_title == title then
    self:refresh()
    return true
  end
  if not self:_window() then
    self._windows:toggle_preview(true)
  end
  local win = self:_window()
  if not win then
    return false
  end
  self._page, self._page_title = show_text(win, lines), title
  self._windows:set_title('preview', title)
  local fits = vim.api.nvim_win_text_height(win, {}).all <= vim.api.nvim_win_get_height(win)
  local key = (config.current.keys.preview_down or {})[1]
  local hint = not fits and key and key .. ' scrolls' or ''
  self._windows:set_footer('preview', hint, 'WinnowReason', '')
  return true
end

---Show the item again after a change of the windows.
function Preview:refresh()
  local item = self._item
  self._item, self._shown_at = nil, 0
  self:show(item)
end

---@param key string
function Preview:_press(key)
  local win = self:_window()
  if win then
    vim.api.nvim_win_call(win, function()
      vim.cmd('normal! ' .. vim.keycode(key))
    end)
  end
end

---Scroll by lines, or by half a page.
---@param by integer|'down'|'up'
function Preview:scroll(by)
  if type(by) == 'string' then
    return self:_press(by == 'down' and '<C-d>' or '<C-u>')
  end
  self:_press(by > 0 and '<C-e>' or '<C-y>')
end

---@param direction 1|-1
function Preview:scroll_sideways(direction)
  self:_press(SIDEWAYS .. (direction > 0 and 'zl' or 'zh'))
end

function Preview:close()
  self._item = nil
  self._timer:stop()
  self._timer:close()
  if self._cancel then
    self._cancel()
  end
  for _, file in ipairs(vim.list_slice(self._order)) do
    self:_forget(file)
  end
end

return M
