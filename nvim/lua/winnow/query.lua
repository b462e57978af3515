-- What somebody types, as a request and back: `path=src how are plugins loaded -- load_plugin`.
--
-- Words `name=value` at the beginning are params of the request, of those that a mode takes; the
-- rest is the query, as it stands. In a keyword search, terms may stand behind ` -- `, in quotation
-- marks where they have spaces. A `--` at the beginning ends the params.

local M = {}

local SCOPE = {
  path = 'string',
  include = 'list',
  exclude = 'list',
  file_types = 'list',
}
local FILES = {
  include_ignored = 'boolean',
  include_hidden = 'boolean',
  include_submodules = 'boolean',
}

---@alias winnow.ParamKind 'string'|'list'|'boolean'|'number'|string[]

---A request that has a query and params, be they empty.
---@class winnow.Typed: winnow.Request
---@field query string
---@field params table<string, any>

---Params that can be typed, with the kind of each; Lua may pass any.
---@type table<winnow.Mode, table<string, winnow.ParamKind?>>
M.params = {
  keyword = vim.tbl_extend('error', SCOPE, FILES, {
    ranker = { 'auto', 'llm', 'local' },
    model = 'string',
    broad_terms = { 'skip', 'shrink' },
    include_documents = 'boolean',
    max_results = 'number',
  }),
  docs = vim.tbl_extend('error', SCOPE, FILES, {
    literal = 'boolean',
    case_sensitive = 'boolean',
    engine = { 'auto', 'builtin', 'rga' },
    max_count = 'number',
    max_results = 'number',
    timeout = 'number',
  }),
  symbols = vim.tbl_extend('error', SCOPE, {
    kind = 'string',
    exact = 'boolean',
    max_results = 'number',
  }),
  grep = vim.tbl_extend('error', SCOPE, FILES, {
    literal = 'boolean',
    case_sensitive = 'boolean',
    word = 'boolean',
    multiline = 'boolean',
    include_binary = 'boolean',
    scope = { 'workspace', 'changed', 'open' },
    mode = { 'matches', 'files', 'counts' },
    follow_symlinks = 'boolean',
    max_results = 'number',
  }),
  semantic = vim.tbl_extend('error', SCOPE, { top_k = 'number' }),
  code = vim.tbl_extend('error', SCOPE, {
    search_type = { 'auto', 'text', 'semantic', 'symbol', 'file' },
    enable_indexing = 'boolean',
    limit = 'number',
  }),
}

---Where results go, which is the plugin's affair and not the server's.
---@type table<string, string[]?>
M.options = {
  list = { 'quickfix', 'loclist' },
  picker = { 'builtin', 'telescope', 'fzf_lua', 'snacks' },
}

---@param text string
---@param kind winnow.ParamKind
---@return any value nil if it does not fit
local function value_of(text, kind)
  if kind == 'number' then
    return tonumber(text)
  elseif kind == 'boolean' then
    return ({ ['true'] = true, ['false'] = false })[text]
  elseif kind == 'list' then
    return vim.split(text, ',', { trimempty = true })
  elseif type(kind) == 'table' then
    return vim.list_contains(kind, text) and text or nil
  end
  return text
end

---@param kind winnow.ParamKind
---@return string
local function wanted(kind)
  if type(kind) == 'table' then
    return 'one of ' .. table.concat(kind, ', ')
  end
  return kind == 'boolean' and 'true or false' or 'a ' .. kind
end

---The words of a text, those in quotation marks as one.
---@param text string
---@return string[]
local function words(text)
  local found, rest = {}, vim.trim(text)
  while rest ~= '' do
    local word, after = rest:match('^"([^"]*)"%s*(.*)$')
    if not word then
      word, after = rest:match('^(%S+)%s*(.*)$')
    end
    ---@cast after string something is left, and it begins with a word
    if word ~= '' then
      found[#found + 1] = word
    end
    rest = after
  end
  return found
end

---Split terms off the question of a keyword search.
---@param text string
---@return string query
---@return string[]? terms
local function without_terms(text)
  local query, terms = text:match('^(.-)%s+%-%-%s+(.*)$')
  if not (query and terms) then
    return text, nil
  end
  return query, words(terms)
end

---The request that somebody has typed. Raises an error for a value that does not fit.
---@param mode winnow.Mode
---@param text string
---@return winnow.Typed
function M.parse(mode, text)
  local known = M.params[mode]
  ---@type winnow.Typed
  local request = { query = '', params = {} }
  local rest = vim.trim(text)
  while true do
    local name, said, after = rest:match('^([%w_]+)=(%S*)%s*(.*)$')
    local kind = name and (M.options[name] or known[name])
    if not kind then
      break
    end
    -- Of a pattern, all captures are there or none.
    ---@cast said string
    ---@cast after string
    local value = value_of(said, kind)
    if value == nil then
      error(('winnow: `%s=%s`: expected %s'):format(name, said, wanted(kind)), 0)
    end
    if M.options[name] then
      request[name] = value
    else
      request.params[name] = value
    end
    rest = after
  end
  rest = rest:match('^%-%-%s+(.*)$') or rest
  request.query = rest
  if mode == 'keyword' then
    request.query, request.terms = without_terms(rest)
  end
  return request
end

---What somebody would type for a request; its params left out.
---@param request winnow.Request
---@return string
function M.format(request)
  local terms = request.terms or {}
  if #terms == 0 then
    return request.query or ''
  end
  local quoted = vim.tbl_map(function(term)
    return term:find('%s') and ('"%s"'):format(term) or term
  end, terms)
  return ('%s -- %s'):format(request.query or '', table.concat(quoted, ' '))
end

return M
