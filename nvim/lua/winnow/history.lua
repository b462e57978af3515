-- The searches of this and earlier sessions, the newest first, in a file of the state folder.

local config = require('winnow.config')

local M = {}

---@class winnow.Remembered: winnow.Request
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

local function is_remembered(one)
  return type(one) == 'table'
    and require('winnow.modes').modes[one.mode] ~= nil
    and type(one.query) == 'string'
    and (one.terms == nil or vim.islist(one.terms))
    and (one.params == nil or type(one.params) == 'table')
end

---@return winnow.Remembered[]
function M.all()
  local text = read(M.file())
  ---@type boolean, any
  local ok, known = pcall(vim.json.decode, text or '[]', { luanil = { object = true } })
  -- A file that somebody else has written, or half of one, is no reason to fail.
  return ok and vim.islist(known) and vim.tbl_filter(is_remembered, known) or {}
end

---@param one winnow.Remembered
---@param other winnow.Remembered
local function is_same(one, other)
  return vim.deep_equal(
    { one.mode, one.query, one.terms or {}, one.params or {} },
    { other.mode, other.query, other.terms or {}, other.params or {} }
  )
end

---Put a search first. The file is read anew, because other sessions write it, too.
---@param mode winnow.Mode
---@param request winnow.Request
function M.add(mode, request)
  local query = request.query or ''
  if config.current.history == 0 or vim.trim(query) == '' then
    return
  end
  local new = { mode = mode, query = query, terms = request.terms, params = request.params }
  local known = vim.tbl_filter(function(one)
    return not is_same(one, new)
  end, M.all())
  table.insert(known, 1, new)
  local path = M.file()
  vim.fn.mkdir(vim.fs.dirname(path), 'p', '0o700')
  local file = io.open(path .. '.new', 'wb')
  if file then
    file:write(vim.json.encode(vim.list_slice(known, 1, config.current.history)))
    file:close()
    os.rename(path .. '.new', path)
  end
end

---The queries of a mode, the newest first.
---@param mode winnow.Mode
---@return winnow.Remembered[]
function M.of(mode)
  return vim.tbl_filter(function(one)
    return one.mode == mode
  end, M.all())
end

return M
