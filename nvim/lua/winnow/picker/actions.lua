-- The actions of the picker's keys; `winnow.keys` in config.lua has the keys.

local history = require('winnow.history')
local lists = require('winnow.lists')
local modes = require('winnow.modes')
local query = require('winnow.query')

-- The server accepts this many patterns.
local MAX_FILES = 100

---@type table<string, fun(picker: winnow.Picker, key?: string)>
local M = {}

-- Moving -----------------------------------------------------------------------------------

---Go to the next or previous item. After the last one comes the first.
---@param picker winnow.Picker
---@param by 1|-1
local function step(picker, by)
  picker:go_to((picker.current + by - 1) % math.max(1, #picker.shown) + 1)
end

function M.next(picker)
  step(picker, 1)
end

function M.previous(picker)
  step(picker, -1)
end

---@param picker winnow.Picker
---@return integer
local function page(picker)
  local height = vim.api.nvim_win_get_height(picker.windows.list)
  return math.max(2, math.floor(height / picker.per_item) - 1)
end

function M.page_down(picker)
  picker:go_to(picker.current + page(picker))
end

function M.page_up(picker)
  picker:go_to(picker.current - page(picker))
end

---@param picker winnow.Picker
---@param by 1|-1
local function select_and_move(picker, by)
  local item = picker:item()
  if item then
    picker.has_moved = true
    picker.selected[item.key] = not picker.selected[item.key] or nil
    picker:draw()
    step(picker, by)
  end
end

function M.select_next(picker)
  select_and_move(picker, 1)
end

function M.select_previous(picker)
  select_and_move(picker, -1)
end

function M.select_all(picker)
  local all_selected = vim.iter(picker.shown):all(function(item)
    return picker.selected[item.key]
  end)
  for _, item in ipairs(picker.shown) do
    picker.selected[item.key] = not all_selected or nil
  end
  picker:draw()
end

-- Opening ----------------------------------------------------------------------------------

---Open the current item. If the results of the typed query have not arrived, open the first of them
---when it does. Modes that don't search while the user types search now.
---@param picker winnow.Picker
---@param how winnow.How
local function open(picker, how)
  if picker:has_new_query() then
    if not picker:search_typed() then
      return
    end
    history.add(picker.mode, picker.request, picker.folder)
    if not picker:is_live() then
      return picker:edit(false)
    end
    picker.opens = how
    return
  end
  local is_waiting = picker.running and picker.running.busy
  if is_waiting and (picker.search ~= picker.running or #picker.shown == 0) then
    picker.opens = how
    return
  end
  picker:open(how)
end

function M.open(picker)
  open(picker, 'here')
end

function M.split(picker)
  open(picker, 'split')
end

function M.vsplit(picker)
  open(picker, 'vsplit')
end

function M.tab(picker)
  open(picker, 'tab')
end

---@param picker winnow.Picker
---@param kind winnow.ListKind
local function send(picker, kind)
  local shown, items = picker.search, picker:selected_or_all()
  if not shown or #items == 0 or picker.choose then
    return
  end
  history.add(picker.mode, shown.request, picker.folder)
  picker:leave(function()
    local list = lists.new(kind, picker.origin_win)
    list:write(shown, items)
    list:show()
  end)
end

function M.quickfix(picker)
  send(picker, 'quickfix')
end

function M.loclist(picker)
  send(picker, 'loclist')
end

---Open the original document in the system's default program.
function M.open_document(picker)
  local item = picker:item()
  if item and item.open_uri then
    vim.ui.open(item.open_uri)
  end
end

-- The query --------------------------------------------------------------------------------

function M.edit_query(picker)
  if not picker.choose then
    picker:edit(not picker.editing)
  end
end

---Search again in another mode, with the same query and the params that the mode has.
---@param picker winnow.Picker
---@param by 1|-1
local function change_mode(picker, by)
  if picker.choose then
    return
  end
  local ok, request = pcall(picker.typed_request, picker)
  if not (ok and picker.editing) then
    request = picker.request
  end
  for index, name in ipairs(modes.names) do
    if name == picker.mode then
      picker.mode = modes.names[(index + by - 1) % #modes.names + 1]
      break
    end
  end
  local params = {}
  for name, value in pairs(request.params or {}) do
    if query.params[picker.mode][name] then
      params[name] = value
    end
  end
  local is_default = picker.editing and picker:typed() == ''
  picker.filter = ''
  -- The rows of a mode would be wrong below the title of another one.
  picker.search = nil
  picker:start({ query = request.query, params = params, files = request.files })
  picker:set_typed(picker.editing and not is_default and request.query or '')
end

function M.next_mode(picker)
  change_mode(picker, 1)
end

function M.previous_mode(picker)
  change_mode(picker, -1)
end

---Search again with another value of a param.
---@param picker winnow.Picker
---@param name string
---@param files string
local function toggle(picker, name, files)
  if not query.params[picker.mode][name] then
    picker:tell(('%s leaves out %s files; grep searches their text'):format(picker.mode, files))
    return
  end
  local params = vim.deepcopy(picker.request.params or {})
  params[name] = not params[name] or nil
  picker:start(vim.tbl_extend('force', picker.request, { params = params }))
end

function M.toggle_ignored(picker)
  toggle(picker, 'include_ignored', 'ignored')
end

function M.toggle_hidden(picker)
  toggle(picker, 'include_hidden', 'hidden')
end

---Return a glob pattern that matches only this path.
---@param path string
---@return string
local function pattern(path)
  return '/' .. path:gsub('[%[%]{}*?\\]', '\\%0')
end

---Search only in the files listed now, or in those selected: ask for a new query.
function M.search_in_files(picker)
  local patterns, seen = {}, {}
  for _, item in ipairs(picker:selected_or_all()) do
    if not item.repository and not seen[item.path] and #patterns < MAX_FILES then
      seen[item.path] = true
      patterns[#patterns + 1] = pattern(item.path)
    end
  end
  if #patterns == 0 or picker.choose then
    return
  end
  local params = vim.tbl_extend('force', picker.request.params or {}, { include = patterns })
  picker.default = nil
  picker.editing, picker.filter = true, ''
  picker:start({ query = '', params = params, files = #patterns })
  picker:set_typed('')
end

---@param picker winnow.Picker
---@param by integer
local function step_history(picker, by)
  local entries = history.of_mode(picker.mode)
  local current = 0
  for index, entry in ipairs(entries) do
    if query.format(entry) == query.format(picker.request) then
      current = index
      break
    end
  end
  local entry = entries[current + by]
  if entry and not picker.choose then
    picker:start({ query = entry.query, terms = entry.terms, params = entry.params })
    picker:edit(picker.editing)
  end
end

function M.older_query(picker)
  step_history(picker, 1)
end

function M.newer_query(picker)
  step_history(picker, -1)
end

-- The preview ------------------------------------------------------------------------------

function M.preview_down(picker)
  picker.preview:scroll('down')
end

function M.preview_up(picker)
  picker.preview:scroll('up')
end

function M.preview_line_down(picker)
  picker.preview:scroll(1)
end

function M.preview_line_up(picker)
  picker.preview:scroll(-1)
end

function M.preview_right(picker)
  picker.preview:scroll_sideways(1)
end

function M.preview_left(picker)
  picker.preview:scroll_sideways(-1)
end

function M.toggle_preview(picker)
  picker.windows:toggle_preview()
  picker:titles()
  picker:draw()
  picker.preview:refresh()
end

---@param picker winnow.Picker
---@param title string
---@param lines string[]
local function toggle_page(picker, title, lines)
  if not picker.preview:toggle_page(title, lines) then
    picker:tell(('the screen is too small for the %s'):format(title))
  end
end

---Show everything about the result and the answer, for which the windows may be too small.
function M.details(picker)
  local shown, item = picker.search, picker:item()
  if not shown or picker.choose then
    return
  end
  local lines = vim.list_extend({ shown:summary() }, shown:details())
  if item then
    local place = ('%s:%d'):format(item.path, item.lnum)
    table.insert(lines, 1, item.reason ~= '' and place .. ': ' .. item.reason or place)
  end
  toggle_page(picker, 'details', lines)
end

---Show the keys. A question mark that follows other letters belongs to the query.
function M.help(picker, key)
  if key == '?' and picker:typed() ~= '' and vim.startswith(vim.api.nvim_get_mode().mode, 'i') then
    return vim.api.nvim_feedkeys('?', 'n', false)
  end
  toggle_page(picker, 'keys', require('winnow.config').key_lines())
end

-- Ending -----------------------------------------------------------------------------------

---Cancel the running search, or close the picker if there is none.
function M.stop(picker)
  local running = picker.running
  if not (running and running.busy) then
    return M.close(picker)
  end
  running:cancel()
  picker.search, picker.opens = running, nil
  picker:draw()
end

function M.close(picker)
  picker:leave(function() end)
end

return M
