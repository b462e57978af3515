-- Preview an item: its file around the line, including unsaved changes, with the match highlighted.

local client = require('winnow.client')
local place = require('winnow.place')

local M = {}

local NAMESPACE = vim.api.nvim_create_namespace('winnow-preview')
-- For larger files, the preview requests the lines around the item from the server.
local MAX_FILE_BYTES = 256 * 1024
local CONTEXT_LINES = 200
-- Highlighting files with longer lines is too slow to be worthwhile.
local MAX_LINE_BYTES = 5000

---@class winnow.Preview
---@field private _windows winnow.Windows
---@field private _folder string
---@field private _item? winnow.Item the item to show
---@field private _cancel? fun()
local Preview = {}
Preview.__index = Preview

---@param windows winnow.Windows
---@param folder string
---@return winnow.Preview
function M.new(windows, folder)
  return setmetatable({ _windows = windows, _folder = folder }, Preview)
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

---Return the lines of a small or open file, or nil for any other.
---@param file string
---@return string[]?
local function local_lines(file)
  local buf = place.loaded_buffer(file)
  if buf then
    return vim.api.nvim_buf_get_lines(buf, 0, -1, false)
  end
  local stat = vim.uv.fs_stat(file)
  if not stat or stat.type ~= 'file' or stat.size > MAX_FILE_BYTES then
    return nil
  end
  local opened = io.open(file, 'rb')
  local text = opened and opened:read('*a')
  if opened then
    opened:close()
  end
  return text and lines_of(text)
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

---@param item winnow.Item
---@param lines string[]
---@param offset integer
function Preview:_show(item, lines, offset)
  local win = self._windows.preview
  if self._item ~= item or not win or not vim.api.nvim_win_is_valid(win) then
    return
  end
  local buf = vim.api.nvim_create_buf(false, true)
  vim.bo[buf].bufhidden = 'wipe'
  vim.api.nvim_buf_set_lines(buf, 0, -1, false, lines)
  highlight_syntax(buf, item.file, lines)
  vim.api.nvim_win_set_buf(win, buf)
  vim.wo[win].number = offset == 0
  vim.wo[win].foldenable = false
  highlight_matches(buf, item.matches, offset)
  local lnum = math.max(1, math.min(item.lnum - offset, #lines))
  vim.api.nvim_win_set_cursor(win, { lnum, 0 })
  vim.wo[win].cursorline = true
  vim.api.nvim_win_call(win, function()
    vim.cmd('normal! zz')
  end)
  local where = item.place and ('%s, %s'):format(item.path, item.place) or item.path
  self._windows:set_title('preview', where)
end

---@param item winnow.Item
---@param method string
---@param params table
---@param extract fun(answer: table): string, integer returns the text and its first line's number
function Preview:_fetch(item, method, params, extract)
  local running = client.running(self._folder)
  if not running then
    return
  end
  self._cancel = client.request(running, method, params, {
    done = function(answer, problem)
      if not answer then
        return self:_show(item, { problem }, 0)
      end
      local text, start = extract(answer)
      self:_show(item, lines_of(text), start - 1)
    end,
    progress = false,
  })
end

---Show an item, or an empty preview.
---@param item? winnow.Item
function Preview:show(item)
  if self._item == item and item then
    return
  end
  self._item = item
  if self._cancel then
    self._cancel()
    self._cancel = nil
  end
  local win = self._windows.preview
  if not win or not vim.api.nvim_win_is_valid(win) then
    return
  end
  if not item then
    local empty = vim.api.nvim_create_buf(false, true)
    vim.bo[empty].bufhidden = 'wipe'
    vim.api.nvim_win_set_buf(win, empty)
    return
  end
  local start = math.max(1, item.lnum - CONTEXT_LINES)
  if vim.startswith(item.file, 'winnow-doc://') then
    local params = { path = item.file, start = start, ['end'] = item.lnum + CONTEXT_LINES }
    self:_fetch(item, '$/documentText', params, function(answer)
      return answer.text, answer.start
    end)
    return
  end
  local lines = local_lines(item.file)
  if lines then
    return self:_show(item, lines, 0)
  end
  local spans = { { start = start, ['end'] = item.lnum + CONTEXT_LINES } }
  self:_fetch(item, '$/readFile', { path = item.file, spans = spans }, function(answer)
    local chunk = answer.chunks[1] or { content = '', start = 1 }
    return chunk.content, chunk.start
  end)
end

---Show the item again after a change of the windows.
function Preview:refresh()
  local item = self._item
  self._item = nil
  self:show(item)
end

---@param lines integer
function Preview:scroll(lines)
  local win = self._windows.preview
  if win and vim.api.nvim_win_is_valid(win) then
    local key = vim.keycode(lines > 0 and '<C-d>' or '<C-u>')
    vim.api.nvim_win_call(win, function()
      vim.cmd('normal! ' .. key)
    end)
  end
end

function Preview:close()
  self._item = nil
  if self._cancel then
    self._cancel()
  end
end

return M
