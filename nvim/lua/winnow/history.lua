-- Store the searches of all sessions, the latest first, in a file in the state folder.

local client = require('winnow.client')
local config = require('winnow.config')

local M = {}

---@class winnow.HistoryEntry: winnow.Request
---@field mode winnow.Mode
---@field query string
---@field folder? string the project's folder

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
    and (value.folder == nil or type(value.folder) == 'string')
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
    { left.mode, left.query, left.terms or {}, left.params or {}, left.folder },
    { right.mode, right.query, right.terms or {}, right.params or {}, right.folder }
  )
end

---Put a search first. Read the file again, because other sessions write to it too.
---@param mode winnow.Mode
---@param request winnow.Request
---@param folder? string the project's folder, by default the current buffer's
function M.add(mode, request, folder)
  local query = request.query or ''
  if config.current.history == 0 or vim.trim(query) == '' then
    return
  end
  ---@type winnow.HistoryEntry
  local new = {
    mode = mode,
    query = query,
    terms = request.terms,
    params = request.params,
    folder = folder or client.root(0),
  }
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

---Return a search as typed text, and its mode with the name of its project if that is another one.
---@param entry winnow.HistoryEntry
---@param folder string the current project's folder
---@return string text
---@return string where
local function describe(entry, folder)
  local query = require('winnow.query')
  local text = query.format_params(entry.params or {}) .. query.format(entry)
  local is_elsewhere = entry.folder and entry.folder ~= folder
  local project = is_elsewhere and ' in ' .. vim.fs.basename(entry.folder) or ''
  return text, entry.mode .. project
end

---Let the user choose a search: with the plugin that replaced `vim.ui.select`, or with our picker.
---@param entries winnow.HistoryEntry[]
---@param choose fun(entry: winnow.HistoryEntry)
function M.choose(entries, choose)
  local folder = client.root(0)
  local info = debug.getinfo(vim.ui.select, 'S')
  if not (info and info.source:find('vim/ui.lua', 1, true)) then
    vim.ui.select(entries, {
      prompt = 'Winnow: search again',
      format_item = function(entry)
        local text, where = describe(entry, folder)
        return ('%-8s %s'):format(where, text)
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
    local text, where = describe(entry, folder)
    items[index] = require('winnow.modes').item({
      path = '',
      lnum = index,
      text = text,
      reason = where,
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
