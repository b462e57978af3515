-- The command `:Winnow` and its completion.

local modes = require('winnow.modes')
local query = require('winnow.query')

local M = {}

local INDEX_ACTIONS = { 'build', 'pause', 'resume', 'clear', 'refresh', 'status' }

---@type table<string, fun(rest: string)>
local subcommands = {
  resume = function()
    require('winnow').resume()
  end,
  history = function()
    require('winnow').history()
  end,
  status = function()
    require('winnow').status()
  end,
  index = function(rest)
    require('winnow.status').index(rest ~= '' and rest or nil)
  end,
  consent = function(rest)
    require('winnow').consent(rest ~= '' and rest --[[@as winnow.ConsentAction]] or nil)
  end,
  audit = function()
    require('winnow').audit()
  end,
  log = function()
    require('winnow').log()
  end,
}
local SUBCOMMANDS = { 'resume', 'history', 'index', 'status', 'consent', 'audit', 'log' }

---Return a literal search for the selected text, and leave visual mode.
---@param mode winnow.Mode
---@return winnow.Request
function M.selected_request(mode)
  local type = vim.fn.mode()
  local lines = vim.fn.getregion(vim.fn.getpos('v'), vim.fn.getpos('.'), { type = type })
  vim.cmd.normal({ vim.keycode('<Esc>'), bang = true })
  return M.request_for(mode, lines)
end

---Return a literal search for lines of text.
---@param mode winnow.Mode
---@param lines string[]
---@return winnow.Request
function M.request_for(mode, lines)
  local text = vim.trim(table.concat(lines, '\n'))
  local params = {}
  if query.params[mode].literal then
    params.literal = true
  end
  if query.params[mode].multiline and text:find('\n') then
    params.multiline = true
  end
  return { query = text, params = params }
end

---@param name string
---@param rest string
---@return boolean
local function is_subcommand(name, rest)
  local takes_arguments = name == 'index' or name == 'consent'
  return subcommands[name] ~= nil and (rest == '' or takes_arguments)
end

---Return the mode and the query of a command. Without a mode, all of it is the query.
---@param text string
---@return winnow.Mode mode
---@return string typed
local function split_mode(text)
  local name, rest = text:match('^(%S*)%s*(.-)%s*$')
  ---@cast name string the pattern matches every text
  ---@cast rest string
  if modes.modes[name] then
    ---@cast name winnow.Mode
    return name, rest
  end
  local names = vim.list_extend(vim.list_slice(modes.names), SUBCOMMANDS)
  local similar = query.similar(name, names)
  if similar then
    error(('winnow: unknown mode `%s`. Did you mean `%s`?'):format(name, similar), 0)
  end
  local first = modes.names[1] --[[@as winnow.Mode]]
  return first, text
end

---@param command vim.api.keyset.create_user_command.command_args
local function run(command)
  local name, rest = command.args:match('^(%S*)%s*(.-)%s*$')
  ---@cast name string
  ---@cast rest string
  if is_subcommand(name, rest) then
    return subcommands[name](rest)
  end
  local mode, typed = split_mode(command.args)
  local request = query.parse(mode, typed)
  if request.query == '' and command.range == 2 then
    local selected = M.request_for(
      mode,
      vim.fn.getregion(vim.fn.getpos("'<"), vim.fn.getpos("'>"), {
        type = vim.fn.visualmode(),
      })
    )
    request.query = selected.query or ''
    request.params = vim.tbl_extend('keep', request.params, selected.params or {})
  end
  if command.bang then
    request.list = request.list or require('winnow.config').current.list
  end
  require('winnow').open(mode, request)
end

---@param command vim.api.keyset.create_user_command.command_args
function M.run(command)
  ---@type boolean, any
  local ok, problem = pcall(run, command)
  if not ok then
    require('winnow.message').fail((tostring(problem):gsub('^winnow: ', '')))
  end
end

---@param names string[]
---@param lead string
---@return string[]
local function with_prefix(names, lead)
  return vim.tbl_filter(function(name)
    return vim.startswith(name, lead)
  end, names)
end

---Return the files and folders that a typed path can become, with a backslash before each space.
---@param lead string
---@return string[]
local function paths(lead)
  local plain = lead:gsub('\\(%s)', '%1')
  return vim.tbl_map(function(path)
    return (path:gsub('%s', '\\%0'))
  end, vim.fn.getcompletion(plain, 'file'))
end

---@param kind any
---@param name string
---@param lead string
---@return string[]
local function values(kind, name, lead)
  if kind == 'boolean' then
    kind = { 'true', 'false' }
  elseif name == 'path' then
    kind = paths(lead)
  elseif type(kind) ~= 'table' then
    return {}
  end
  return vim.tbl_map(function(value)
    return name .. '=' .. value
  end, with_prefix(kind, lead))
end

---Return the arguments of a subcommand that is not a search, if it has any.
---@param name? string
---@return string[]?
local function actions_of(name)
  if name == 'index' then
    return INDEX_ACTIONS
  elseif name == 'consent' then
    return require('winnow.egress').ACTIONS
  end
end

---Complete a command line.
---@param lead string
---@param line string
---@param position integer
---@return string[]
function M.complete(lead, line, position)
  local before = line:sub(1, position - #lead):gsub('^.-Winnow!?%s+', '', 1)
  if not before:find('%S') then
    return with_prefix(vim.list_extend(vim.deepcopy(modes.names), SUBCOMMANDS), lead)
  end
  local name = before:match('^%S+')
  local actions = actions_of(name)
  if actions then
    return before:match('^%S+%s+$') and with_prefix(actions, lead) or {}
  end
  ---@type table<string, winnow.ParamKind?>?
  local kinds = vim.tbl_get(query.params, name)
  -- Params come only before the query.
  local typed = before:gsub('\\%s', ''):gsub('^%S+%s*', ''):gsub('[%w_]+=%S*%s+', '')
  if not kinds or typed ~= '' then
    return {}
  end
  kinds = vim.tbl_extend('force', kinds, query.options)
  local param, value = lead:match('^([%w_]+)=(.*)$')
  if param and value and kinds[param] then
    return values(kinds[param], param, value)
  end
  local names = vim.tbl_keys(kinds)
  table.sort(names)
  return with_prefix(
    vim.tbl_map(function(param_name)
      return param_name .. '='
    end, names),
    lead
  )
end

return M
