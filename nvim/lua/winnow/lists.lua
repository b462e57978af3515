-- Results as quickfix and location lists: each search is a list of its own, so that |:colder| and
-- |:lolder| lead back, with a title that says what it is and a context for scripts.

local answers = require('winnow.answer')
local config = require('winnow.config')
local modes = require('winnow.modes')
local place = require('winnow.place')
local search = require('winnow.search')

local M = {}

-- While a list is filled it is written anew so often at most.
local UPDATE_MS = 200

---@param item winnow.Item
---@return table
local function entry(item)
  local parts = vim.tbl_filter(function(part)
    return part ~= ''
  end, { item.place or '', item.reason, vim.trim(item.text) })
  return {
    filename = item.file,
    lnum = item.lnum,
    col = place.list_column(item),
    text = table.concat(parts, ' │ '),
  }
end

---@param found winnow.Search
---@return string
local function title(found)
  local said = ('winnow %s: %s'):format(found.mode, found.request.query or '')
  if found.answer then
    local count = answers.count(found.answer, #found.items)
    local by = answers.ranked_by(found.answer)
    local lacking = #answers.left_out(found.answer) > 0 and ', incomplete' or ''
    said = ('%s [%s%s%s]'):format(said, count, by and ', ' .. by or '', lacking)
  end
  return said
end

---A list that is filled: the same from its first entry to its last.
---@class winnow.List
---@field kind winnow.ListKind
---@field win integer
---@field id? integer
local List = {}
List.__index = List

---@param kind winnow.ListKind
---@param win? integer the window that a location list is for
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

---Write items of a search to the list, which is made by the first call.
---@param found winnow.Search
---@param items winnow.Item[]
function List:write(found, items)
  local what = {
    title = title(found),
    items = vim.tbl_map(entry, items),
    context = {
      winnow = {
        mode = found.mode,
        query = found.request.query,
        terms = found.request.terms,
        params = found.request.params,
        search_id = found.answer and found.answer.search_id,
        left_out = found:left_out(),
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

---Open the list's window, if that is wanted, and stay where one is.
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

---Search, and fill a list with what is found while it is found.
---@param mode winnow.Mode
---@param request winnow.Request
---@return winnow.Search
function M.search(mode, request)
  modes.get(mode)
  local list = M.new(request.list or config.current.list, request.win)
  local written = 0
  local function write(found)
    local shown = list.id ~= nil
    list:write(found, found.items)
    written = vim.uv.now()
    if not shown then
      list:show()
    end
  end
  return search.start(mode, request, {
    told = function(found)
      local due = #found.items > 0 and vim.uv.now() - written >= UPDATE_MS
      if found.busy then
        if due then
          write(found)
        end
        return
      end
      if #found.items > 0 or list.id then
        write(found)
      end
      answers.report(found)
    end,
  })
end

return M
