-- The windows of the picker: prompt, list, summary and preview.

local config = require('winnow.config')

local M = {}

-- A narrower picker has no room for a preview next to the list.
M.preview_columns = 90
local MAX_INFO_LINES = 4

---@class winnow.Windows
---@field prompt integer
---@field list integer
---@field info integer
---@field preview? integer
---@field prompt_buf integer
---@field list_buf integer
---@field info_buf integer
---@field private _border string
---@field private _info_lines integer
---@field private _wants_preview boolean
local Windows = {}
Windows.__index = Windows

local LINKS = {
  WinnowPath = 'Directory',
  WinnowLine = 'LineNr',
  WinnowReason = 'Comment',
  WinnowPlace = 'Special',
  WinnowText = 'Normal',
  WinnowCurrent = 'CursorLine',
  WinnowSelected = 'Statement',
  WinnowMatch = 'Search',
  WinnowFilter = 'Special',
  WinnowSummary = 'Comment',
  WinnowLeftOut = 'WarningMsg',
  WinnowProblem = 'ErrorMsg',
}

---Define the default highlights again, because `:highlight clear` may have removed them.
function M.define_highlights()
  for name, link in pairs(LINKS) do
    vim.api.nvim_set_hl(0, name, { link = link, default = true })
  end
end

---@param kind string
---@return integer
local function scratch(kind)
  local buf = vim.api.nvim_create_buf(false, true)
  vim.bo[buf].bufhidden = 'wipe'
  vim.bo[buf].filetype = 'winnow-' .. kind
  return buf
end

---Return the available columns and lines.
---@return integer
---@return integer
function M.screen()
  return vim.o.columns, vim.o.lines - vim.o.cmdheight
end

---@class winnow.Box
---@field row integer
---@field col integer
---@field width integer
---@field height integer

---Return the positions and sizes of the windows, without borders.
---@return { prompt: winnow.Box, list: winnow.Box, info: winnow.Box, preview?: winnow.Box }
function Windows:_boxes()
  local columns, lines = M.screen()
  local width = math.max(20, math.floor(columns * config.current.width))
  local height = math.max(9 + self._info_lines, math.floor(lines * config.current.height))
  width, height = math.min(width, columns - 2), math.min(height, lines)
  local row = math.max(0, math.floor((lines - height) / 2))
  local col = math.max(0, math.floor((columns - width) / 2))
  local has_preview = self._wants_preview and width >= M.preview_columns
  local left = has_preview and math.floor(width / 2) or width
  -- Borders: two lines each for prompt, list and info.
  local list_height = math.max(1, height - 7 - self._info_lines)
  local info_row = row + 3 + list_height + 2
  return {
    prompt = { row = row, col = col, width = left - 2, height = 1 },
    list = { row = row + 3, col = col, width = left - 2, height = list_height },
    info = { row = info_row, col = col, width = left - 2, height = self._info_lines },
    preview = has_preview
        and { row = row, col = col + left, width = width - left - 2, height = height - 2 }
      or nil,
  }
end

---@param box winnow.Box
---@return vim.api.keyset.win_config
local function float(box)
  return {
    relative = 'editor',
    row = box.row,
    col = box.col,
    width = box.width,
    height = box.height,
  }
end

---@param buf integer
---@param box winnow.Box
---@param focus boolean
---@return integer
function Windows:_open(buf, box, focus)
  local window_config = vim.tbl_extend('error', float(box), {
    style = 'minimal',
    border = self._border,
    focusable = true,
    zindex = 50,
  })
  local win = vim.api.nvim_open_win(buf, focus, window_config)
  vim.wo[win].winhighlight = 'Normal:NormalFloat'
  vim.wo[win].wrap = false
  vim.wo[win].foldenable = false
  return win
end

function Windows:_show_preview(box)
  if not box then
    if self.preview and vim.api.nvim_win_is_valid(self.preview) then
      vim.api.nvim_win_close(self.preview, true)
    end
    self.preview = nil
  elseif self.preview and vim.api.nvim_win_is_valid(self.preview) then
    vim.api.nvim_win_set_config(self.preview, float(box))
  else
    self.preview = self:_open(scratch('preview'), box, false)
    vim.wo[self.preview].number = true
  end
end

---@return winnow.Windows
function M.open()
  local border = vim.o.winborder
  local self = setmetatable({
    prompt_buf = scratch('prompt'),
    list_buf = scratch('list'),
    info_buf = scratch('info'),
    _border = (border == '' or border == 'none') and 'rounded' or border,
    _info_lines = 1,
    _wants_preview = config.current.preview,
  }, Windows)
  M.define_highlights()
  vim.bo[self.prompt_buf].buftype = 'prompt'
  vim.fn.prompt_setprompt(self.prompt_buf, M.PROMPT)
  local boxes = self:_boxes()
  self.list = self:_open(self.list_buf, boxes.list, false)
  self.info = self:_open(self.info_buf, boxes.info, false)
  vim.wo[self.info].wrap = true
  vim.wo[self.info].linebreak = true
  self:_show_preview(boxes.preview)
  self.prompt = self:_open(self.prompt_buf, boxes.prompt, true)
  return self
end

M.PROMPT = '> '

---Adapt the windows to the size of the screen.
function Windows:resize()
  local boxes = self:_boxes()
  for _, name in ipairs({ 'prompt', 'list', 'info' }) do
    if vim.api.nvim_win_is_valid(self[name]) then
      vim.api.nvim_win_set_config(self[name], float(boxes[name]))
    end
  end
  self:_show_preview(boxes.preview)
end

function Windows:toggle_preview()
  self._wants_preview = not self._wants_preview
  self:resize()
end

---@param name 'prompt'|'list'|'preview'
---@param title string
function Windows:set_title(name, title)
  local win = self[name]
  if win and vim.api.nvim_win_is_valid(win) then
    local width = vim.api.nvim_win_get_width(win)
    local cut = vim.fn.strcharpart(title, 0, width - 2)
    vim.api.nvim_win_set_config(win, { title = (' %s '):format(cut), title_pos = 'center' })
  end
end

---Show the summary of the answer and what it left out, and resize the window to fit.
---@param summary string
---@param left_out string
---@param failed boolean
function Windows:set_summary(summary, left_out, failed)
  local function one_line(text)
    return (text:gsub('%s+', ' '))
  end
  ---@type string[]
  local lines = { one_line(summary) }
  if left_out ~= '' then
    lines[2] = one_line(left_out)
  end
  local width = vim.api.nvim_win_get_width(self.info)
  local needed = 0
  for _, line in ipairs(lines) do
    needed = needed + math.max(1, math.ceil(vim.fn.strdisplaywidth(line) / width))
  end
  vim.api.nvim_buf_set_lines(self.info_buf, 0, -1, false, lines)
  local groups = { failed and 'WinnowProblem' or 'WinnowSummary', 'WinnowLeftOut' }
  local namespace = vim.api.nvim_create_namespace('winnow-info')
  for row, line in ipairs(lines) do
    vim.api.nvim_buf_set_extmark(self.info_buf, namespace, row - 1, 0, {
      end_col = #line,
      hl_group = groups[row],
    })
  end
  needed = math.min(needed, MAX_INFO_LINES)
  if needed ~= self._info_lines then
    self._info_lines = needed
    self:resize()
  end
end

---@return boolean
function Windows:is_open()
  return vim.api.nvim_win_is_valid(self.prompt)
    and vim.api.nvim_win_is_valid(self.list)
    and vim.api.nvim_win_is_valid(self.info)
end

---@param win integer
---@return boolean
function Windows:has(win)
  return win == self.prompt or win == self.list or win == self.info or win == self.preview
end

function Windows:close()
  for _, name in ipairs({ 'preview', 'list', 'info', 'prompt' }) do
    local win = self[name]
    if win and vim.api.nvim_win_is_valid(win) then
      vim.api.nvim_win_close(win, true)
    end
  end
end

return M
