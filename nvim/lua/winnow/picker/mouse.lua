-- The mouse in the picker: a click selects a result, a double click opens it, and the wheel scrolls
-- the window below it, as everywhere in Neovim. The cursor stays in the prompt.

local actions = require('winnow.picker.actions')

local M = {}

---Return the index of the result below the mouse, if any.
---@param picker winnow.Picker
---@param mouse vim.fn.getmousepos.ret
---@return integer?
local function result_below(picker, mouse)
  local index = math.ceil(mouse.line / picker.per_item)
  local is_below = mouse.winid == picker.windows.list and mouse.line > 0 and picker.shown[index]
  return is_below and index or nil
end

---@param picker winnow.Picker
local function click(picker)
  local mouse = vim.fn.getmousepos()
  local index = result_below(picker, mouse)
  if index then
    picker:go_to(index)
  elseif not picker.windows:has(mouse.winid) then
    actions.close(picker)
  end
end

---@param picker winnow.Picker
local function double_click(picker)
  if result_below(picker, vim.fn.getmousepos()) then
    actions.open(picker)
  end
end

---Map the mouse in the picker's prompt.
---@param picker winnow.Picker
function M.map(picker)
  local function map(key, handle)
    vim.keymap.set({ 'i', 'n' }, key, handle, { buffer = picker.windows.prompt_buf, nowait = true })
  end
  map('<LeftMouse>', function()
    click(picker)
  end)
  map('<2-LeftMouse>', function()
    double_click(picker)
  end)
  for _, key in ipairs({ '<LeftDrag>', '<LeftRelease>', '<3-LeftMouse>', '<4-LeftMouse>' }) do
    map(key, '<Nop>')
  end
end

return M
