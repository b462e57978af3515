-- Show results in quickfix and location lists. Each search creates a new list, so |:colder| and
-- |:lolder| return to earlier ones. The title describes the search, and the context is for scripts.

local answers = require('winnow.answer')
local config = require('winnow.config')
local modes = require('winnow.modes')
local place = require('winnow.place')
local search = require('winnow.search')

local M = {}

-- Minimum interval between updates of a list while results arrive.
local UPDATE_MS = 200

---@param item winnow.Item
---@return table
local function entry(item)
  local parts = vim.tbl_filter(function(part)
    return part ~= ''
  end, { item.place or '', item.reason, vim.trim(item.text) })
  return {
    filename = place.short_name(item.file),
    lnum = item.lnum,
    col = place.list_column(item),
    text = table.concat(parts, ' │ '),
  }
end

---@param source winnow.Search
---@param items winnow.Item[] those in the list
---@return string
local function title(source, items)
  local text = ('winnow %s: %s'):format(source.mode, source.request.query or '')
  if source.answer then
    local by = source.answer.ranked_by
    local model = by and by.kind == 'llm' and (', ranked by %s'):format(by.model) or ''
    local incomplete = source.answer.completeness.complete and '' or ', incomplete'
    local count = answers.count(source.mode, source.answer, items)
    text = ('%s [%s%s%s]'):format(text, count, model, incomplete)
  end
  return text
end

---A list to which a search writes its results.
---@class winnow.List
---@field kind winnow.ListKind
---@field win integer
---@field id? integer
local List = {}
List.__index = List

---@param kind winnow.ListKind
---@param win? integer the window of a location list
---@return winnow.List
function M.new(kind, win)
  return setmetatable({ kind = kind, win = win or vim.api.nvim_get_current_win() }, List)
end

---@param action ' '|'r'
---@param what table
function List:_set(action, what)
  if self.kind == 'quickfix' then
    vim.fn.setqflist({}, action, what)
  elseif vim.api.nvim_win_is_valid(self.win) then
    vim.fn.setloclist(self.win, {}, action, what)
  end
end

---@param what table
---@return table
function List:_get(what)
  if self.kind == 'quickfix' then
    return vim.fn.getqflist(what)
  end
  return vim.api.nvim_win_is_valid(self.win) and vim.fn.getloclist(self.win, what) or {}
end

---Write items of a search to the list. The first call creates it.
---@param source winnow.Search
---@param items winnow.Item[]
function List:write(source, items)
  local what = {
    title = title(source, items),
    items = vim.tbl_map(entry, items),
    context = {
      winnow = {
        mode = source.mode,
        query = source.request.query,
        terms = source.request.terms,
        params = source.request.params,
        search_id = source.answer and source.answer.search_id,
        details = source:details(),
      },
    },
  }
  if not self.id then
    self:_set(' ', what)
    self.id = self:_get({ id = 0 }).id
    return
  end
  what.id = self.id
  local current = self:_get({ id = self.id, idx = 0 }).idx
  what.idx = current and current > 0 and math.min(current, math.max(#items, 1)) or nil
  self:_set('r', what)
end

---Open the list's window if the option allows it, without moving the cursor there.
function List:show()
  if not config.current.open_list then
    return
  end
  local win = vim.api.nvim_get_current_win()
  if self.kind == 'quickfix' then
    vim.cmd('botright copen')
  elseif vim.api.nvim_win_is_valid(self.win) then
    vim.api.nvim_win_call(self.win, function()
      vim.cmd('lopen')
    end)
  end
  if vim.api.nvim_win_is_valid(win) then
    vim.api.nvim_set_current_win(win)
  end
end

---Search, and write the results to a list as they arrive.
---@param mode winnow.Mode
---@param request winnow.Request
---@return winnow.Search
function M.search(mode, request)
  modes.get(mode)
  local list = M.new(request.list or config.current.list, request.win)
  local written = 0
  local function write(source)
    local is_shown = list.id ~= nil
    list:write(source, source.items)
    written = vim.uv.now()
    if not is_shown then
      list:show()
    end
  end
  return search.start(mode, request, {
    on_update = function(source)
      local is_due = #source.items > 0 and vim.uv.now() - written >= UPDATE_MS
      if source.busy then
        if is_due then
          write(source)
        end
        return
      end
      if #source.items > 0 or list.id then
        write(source)
      end
      answers.report(source)
    end,
  })
end

return M
