-- The windows of the picker: prompt, list and preview.
--
-- On a wide screen the preview is beside the list, on a narrow one below it. The border of the list
-- shows the summary of the answer and the position in it.

local config = require('winnow.config')

local M = {}

-- On a narrower screen, the list and the preview are one above the other.
local SIDE_BY_SIDE_COLUMNS = 100
-- A smaller screen is used completely.
local SMALL_COLUMNS, SMALL_LINES = 140, 30
-- Side by side, with borders: a list with a column for reasons, and a preview with lines of code,
-- which comes first if there is not room for both.
local LIST_COLUMNS, PREVIEW_COLUMNS = 80, 52
-- On a wide screen, lines of code fit into a preview of this width, and the list needs the rest, up
-- to this share.
local WIDE_PREVIEW_COLUMNS, MAX_LIST_SHARE = 72, 0.6
-- Neovim shows messages and completions above 99.
local LOWEST_ZINDEX, HIGHEST_ZINDEX = 50, 99
-- Fewer lines below the prompt show only the list.
local PREVIEW_LINES = 8

---@class winnow.Windows
---@field prompt integer
---@field list integer
---@field preview? integer
---@field prompt_buf integer
---@field list_buf integer
---@field private _border string
---@field private _zindex integer
---@field private _wants_preview boolean
---@field private _texts table<string, string> the titles and footers shown, to skip equal ones
local Windows = {}
Windows.__index = Windows

local LINKS = {
  WinnowName = 'Directory',
  WinnowPath = 'Comment',
  WinnowLine = 'LineNr',
  WinnowReason = 'Comment',
  WinnowPlace = 'Special',
  WinnowText = 'NormalFloat',
  WinnowCurrent = 'CursorLine',
  WinnowSelected = 'Statement',
  WinnowMatch = 'Search',
  WinnowLetters = 'Special',
  WinnowMode = 'Title',
  WinnowDefault = 'Comment',
  WinnowSummary = 'Comment',
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

---Return the position and size of a window without its border.
---@param row integer
---@param col integer
---@param width integer with the border
---@param height integer with the border
---@return winnow.Box
local function box(row, col, width, height)
  return { row = row, col = col, width = math.max(1, width - 2), height = math.max(1, height - 2) }
end

---Return the area of the picker, with borders.
---@return { row: integer, col: integer, width: integer, height: integer }
local function area()
  local columns, lines = M.screen()
  local width, height = columns, lines
  if columns >= SMALL_COLUMNS then
    width = math.floor(columns * config.current.width)
  end
  if lines >= SMALL_LINES then
    height = math.floor(lines * config.current.height)
  end
  width, height = math.max(20, width), math.max(6, height)
  return {
    row = math.max(0, math.floor((lines - height) / 2)),
    col = math.max(0, math.floor((columns - width) / 2)),
    width = width,
    height = height,
  }
end

---@return boolean
local function is_side_by_side()
  local layout = config.current.layout
  return layout == 'side' or (layout == 'auto' and vim.o.columns >= SIDE_BY_SIDE_COLUMNS)
end

---@return { prompt: winnow.Box, list: winnow.Box, preview?: winnow.Box }
function Windows:_boxes()
  local all = area()
  local row, col, width, height = all.row, all.col, all.width, all.height
  local rest = height - 3
  local function boxes(list_width, list_height, preview)
    return {
      prompt = box(row, col, list_width, 3),
      list = box(row + 3, col, list_width, list_height),
      preview = preview,
    }
  end
  if self._wants_preview and is_side_by_side() then
    local left = math.max(
      math.floor(width / 2),
      math.min(LIST_COLUMNS, width - PREVIEW_COLUMNS),
      math.min(math.floor(width * MAX_LIST_SHARE), width - WIDE_PREVIEW_COLUMNS)
    )
    return boxes(left, rest, box(row, col + left, width - left, height))
  elseif self._wants_preview and rest >= PREVIEW_LINES then
    local top = math.ceil(rest / 2)
    return boxes(width, top, box(row + 3 + top, col, width, rest - top))
  end
  return boxes(width, rest, nil)
end

---@param at winnow.Box
---@return vim.api.keyset.win_config
local function float(at)
  return { relative = 'editor', row = at.row, col = at.col, width = at.width, height = at.height }
end

---Return a z-index above those of other plugins' windows.
---@return integer
local function zindex_above()
  local highest = LOWEST_ZINDEX
  for _, win in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
    highest = math.max(highest, (vim.api.nvim_win_get_config(win).zindex or 0) + 1)
  end
  return math.min(highest, HIGHEST_ZINDEX)
end

---@param buf integer
---@param at winnow.Box
---@param focus boolean
---@return integer
function Windows:_open(buf, at, focus)
  local window_config = vim.tbl_extend('error', float(at), {
    style = 'minimal',
    border = self._border,
    focusable = true,
    zindex = self._zindex,
  })
  local win = vim.api.nvim_open_win(buf, focus, window_config)
  vim.wo[win].winhighlight = 'Normal:NormalFloat'
  vim.wo[win].wrap = false
  vim.wo[win].foldenable = false
  vim.wo[win].scrolloff = 0
  return win
end

function Windows:_show_preview(at)
  self._texts.preview = nil
  if not at then
    if self.preview and vim.api.nvim_win_is_valid(self.preview) then
      vim.api.nvim_win_close(self.preview, true)
    end
    self.preview = nil
  elseif self.preview and vim.api.nvim_win_is_valid(self.preview) then
    vim.api.nvim_win_set_config(self.preview, float(at))
  else
    self.preview = self:_open(scratch('preview'), at, false)
    vim.wo[self.preview].number = true
  end
end

---@param has_preview boolean
---@return winnow.Windows
function M.open(has_preview)
  local border = vim.o.winborder
  local self = setmetatable({
    prompt_buf = scratch('prompt'),
    list_buf = scratch('list'),
    _border = (border == '' or border == 'none') and 'rounded' or border,
    _wants_preview = has_preview,
    _zindex = zindex_above(),
    _texts = {},
  }, Windows)
  M.define_highlights()
  vim.bo[self.prompt_buf].buftype = 'prompt'
  vim.fn.prompt_setprompt(self.prompt_buf, M.PROMPT)
  local boxes = self:_boxes()
  self.list = self:_open(self.list_buf, boxes.list, false)
  self:_show_preview(boxes.preview)
  self.prompt = self:_open(self.prompt_buf, boxes.prompt, true)
  return self
end

M.PROMPT = '> '

---Adapt the windows to the size of the screen.
function Windows:resize()
  local boxes = self:_boxes()
  for _, name in ipairs({ 'prompt', 'list' }) do
    if vim.api.nvim_win_is_valid(self[name]) then
      vim.api.nvim_win_set_config(self[name], float(boxes[name]))
    end
  end
  self._texts = {}
  self:_show_preview(boxes.preview)
end

---@param wanted? boolean by default the opposite
function Windows:toggle_preview(wanted)
  if wanted == nil then
    wanted = not self._wants_preview
  end
  self._wants_preview = wanted
  self:resize()
end

---@alias winnow.Chunk [string, string?] text and its highlight group

---@param chunks winnow.Chunk[]
---@param width integer
---@return winnow.Chunk[]
local function cut(chunks, width)
  local shown = {} ---@type winnow.Chunk[]
  for _, chunk in ipairs(chunks) do
    local text = chunk[1]:gsub('[%c]', ' ')
    local cells = vim.api.nvim_strwidth(text)
    if cells > width then
      text = width > 1 and vim.fn.printf('%.' .. (width - 1) .. 'S', text) .. '…' or ''
      cells = width
    end
    shown[#shown + 1] = { text, chunk[2] }
    width = width - cells
    if width <= 0 then
      break
    end
  end
  return shown
end

---Set the title or footer of a window, unless it is the one shown.
---@param name 'prompt'|'list'|'preview'
---@param where 'title'|'footer'
---@param chunks winnow.Chunk[]
function Windows:_set_border_text(name, where, chunks)
  local win = self[name]
  if not (win and vim.api.nvim_win_is_valid(win)) then
    return
  end
  local key = name .. where
  local shown = vim.inspect(chunks)
  if self._texts[key] ~= shown then
    self._texts[key] = shown
    vim.api.nvim_win_set_config(win, { [where] = chunks, [where .. '_pos'] = 'left' })
  end
end

---@param name 'prompt'|'list'|'preview'
---@param title string|winnow.Chunk[]
function Windows:set_title(name, title)
  local win = self[name]
  if win and vim.api.nvim_win_is_valid(win) then
    local chunks = type(title) == 'string' and { { title } } or title
    local inner = cut(chunks --[[@as winnow.Chunk[] ]], vim.api.nvim_win_get_width(win) - 2)
    table.insert(inner, 1, { ' ' })
    inner[#inner + 1] = { ' ' }
    self:_set_border_text(name, 'title', inner)
  end
end

---Set the footer of a window: a message, and at the right end a position.
---@param name 'list'|'preview'
---@param message string
---@param group string
---@param position string
function Windows:set_footer(name, message, group, position)
  local win = self[name]
  if not (win and vim.api.nvim_win_is_valid(win)) then
    return
  end
  local width = vim.api.nvim_win_get_width(win)
  local right = position ~= '' and (' %s '):format(position) or ''
  local room = width - vim.api.nvim_strwidth(right) - 3
  local inner = message ~= '' and cut({ { message, group } }, room) or {}
  local used = inner[1] and vim.api.nvim_strwidth(inner[1][1]) + 2 or 0
  local border = vim.api.nvim_win_get_config(win).border --[[@as any]]
  local edge = border and border[6] or ' '
  edge = type(edge) == 'table' and edge[1] or edge
  local fill = math.max(0, width - used - vim.api.nvim_strwidth(right))
  local chunks = {} ---@type winnow.Chunk[]
  if inner[1] then
    chunks[1] = { (' %s '):format(inner[1][1]), group }
  end
  chunks[#chunks + 1] = { (edge ~= '' and edge or ' '):rep(fill), 'FloatBorder' }
  chunks[#chunks + 1] = { right, 'WinnowSummary' }
  self:_set_border_text(name, 'footer', chunks)
end

---@return boolean
function Windows:is_open()
  return vim.api.nvim_win_is_valid(self.prompt) and vim.api.nvim_win_is_valid(self.list)
end

---@param win integer
---@return boolean
function Windows:has(win)
  return win == self.prompt or win == self.list or win == self.preview
end

function Windows:close()
  for _, name in ipairs({ 'preview', 'list', 'prompt' }) do
    local win = self[name]
    if win and vim.api.nvim_win_is_valid(win) then
      vim.api.nvim_win_close(win, true)
    end
  end
end

return M
