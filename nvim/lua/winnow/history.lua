-- Store the searches of all sessions, the latest first, in a file in the state folder.

local config = require('winnow.config')

local M = {}

---@class winnow.HistoryEntry: winnow.Request
---@field mode winnow.Mode
---@field query string

---@return string
function M.file()
  return vim.fs.joinpath(vim.fn.stdpath('state') --[[@as string]], 'winnow', 'history.json')
end

---@param path string
---@return string?
local function read(path)
  local file = io.open(path, 'rb')
  local text = file and file:read('*a')
  if file then
    file:close()
  end
  return text
end

local function is_entry(value)
  return type(value) == 'table'
    and require('winnow.modes').modes[value.mode] ~= nil
    and type(value.query) == 'string'
    and (value.terms == nil or vim.islist(value.terms))
    and (value.params == nil or type(value.params) == 'table')
end

---@return winnow.HistoryEntry[]
function M.all()
  local text = read(M.file())
  ---@type boolean, any
  local ok, entries = pcall(vim.json.decode, text or '[]', { luanil = { object = true } })
  -- Ignore a foreign or incomplete file.
  return ok and vim.islist(entries) and vim.tbl_filter(is_entry, entries) or {}
end

---@param left winnow.HistoryEntry
---@param right winnow.HistoryEntry
local function is_same(left, right)
  return vim.deep_equal(
    { left.mode, left.query, left.terms or {}, left.params or {} },
    { right.mode, right.query, right.terms or {}, right.params or {} }
  )
end

---Put a search first. Read the file again, because other sessions write to it too.
---@param mode winnow.Mode
---@param request winnow.Request
function M.add(mode, request)
  local query = request.query or ''
  if config.current.history == 0 or vim.trim(query) == '' then
    return
  end
  local new = { mode = mode, query = query, terms = request.terms, params = request.params }
  local entries = vim.tbl_filter(function(entry)
    return not is_same(entry, new)
  end, M.all())
  table.insert(entries, 1, new)
  local path = M.file()
  vim.fn.mkdir(vim.fs.dirname(path), 'p', '0o700')
  local file = io.open(path .. '.new', 'wb')
  if file then
    file:write(vim.json.encode(vim.list_slice(entries, 1, config.current.history)))
    file:close()
    os.rename(path .. '.new', path)
  end
end

---Let the user choose a search: with the plugin that replaced `vim.ui.select`, or with our picker.
---@param entries winnow.HistoryEntry[]
---@param choose fun(entry: winnow.HistoryEntry)
function M.choose(entries, choose)
  local format = require('winnow.query').format
  local info = debug.getinfo(vim.ui.select, 'S')
  if not (info and info.source:find('vim/ui.lua', 1, true)) then
    vim.ui.select(entries, {
      prompt = 'Winnow: search again',
      format_item = function(entry)
        return ('%-8s %s'):format(entry.mode, format(entry))
      end,
    }, function(entry)
      if entry then
        choose(entry)
      end
    end)
    return
  end
  local items = {}
  for index, entry in ipairs(entries) do
    items[index] = require('winnow.modes').item({
      path = '',
      lnum = index,
      text = format(entry),
      reason = entry.mode,
    }, '')
  end
  require('winnow.picker').choose('search again', items, function(item)
    choose(entries[item.lnum] --[[@as winnow.HistoryEntry]])
  end)
end

---Return the searches of a mode, the latest first.
---@param mode winnow.Mode
---@return winnow.HistoryEntry[]
function M.of_mode(mode)
  return vim.tbl_filter(function(entry)
    return entry.mode == mode
  end, M.all())
end

return M
