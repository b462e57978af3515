-- Parse and format typed requests: `path=src how are plugins loaded -- load_plugin`.
--
-- Leading words `name=value` are params of the request if the mode has them. A backslash precedes a
-- space in a value. The rest is the query, unchanged. In a keyword search, terms may follow ` -- `;
-- quotation marks enclose terms with spaces. A leading `--` ends the params.

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

local REPOSITORIES = { repositories = 'list' }

---@alias winnow.ParamKind 'string'|'list'|'boolean'|'number'|string[]

---A request whose query and params are present, possibly empty.
---@class winnow.ParsedRequest: winnow.Request
---@field query string
---@field params table<string, any>

-- The kinds of symbols.
M.KINDS = vim.split(
  'any class const constructor enum enum_member event field function interface macro method module'
    .. ' namespace object operator property section struct trait type union variable',
  ' '
)

---Params that can be typed, with the kind of each. Lua code can pass any param.
---@type table<winnow.Mode, table<string, winnow.ParamKind?>>
M.params = {
  keyword = vim.tbl_extend('error', SCOPE, FILES, REPOSITORIES, {
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
  symbols = vim.tbl_extend('error', SCOPE, REPOSITORIES, {
    kind = M.KINDS,
    exact = 'boolean',
    max_results = 'number',
  }),
  grep = vim.tbl_extend('error', SCOPE, FILES, REPOSITORIES, {
    literal = 'boolean',
    case_sensitive = 'boolean',
    word = 'boolean',
    multiline = 'boolean',
    include_binary = 'boolean',
    scope = { 'workspace', 'changed', 'open' },
    mode = { 'matches', 'files', 'counts', 'line_counts' },
    follow_symlinks = 'boolean',
    max_results = 'number',
  }),
  semantic = vim.tbl_extend('error', SCOPE, REPOSITORIES, { top_k = 'number' }),
  code = vim.tbl_extend('error', SCOPE, REPOSITORIES, {
    search_type = { 'auto', 'text', 'semantic', 'symbol', 'file' },
    enable_indexing = 'boolean',
    ranker = { 'auto', 'llm', 'local' },
    model = 'string',
    limit = 'number',
  }),
  files = vim.tbl_extend('error', SCOPE, REPOSITORIES, { limit = 'number' }),
}

---Options of the plugin, which are not sent to the server: where to show the results.
---@type table<string, string[]?>
M.options = {
  list = { 'quickfix', 'loclist' },
  picker = { 'builtin', 'telescope', 'fzf_lua', 'snacks' },
}

---@param text string
---@param kind winnow.ParamKind
---@return any value nil if invalid
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
local function expected(kind)
  if type(kind) == 'table' then
    return 'one of ' .. table.concat(kind, ', ')
  end
  return kind == 'boolean' and 'true or false' or 'a ' .. kind
end

---Split a text into words. Quotation marks enclose words with spaces.
---@param text string
---@return string[]
local function words(text)
  local list, rest = {}, vim.trim(text)
  while rest ~= '' do
    local word, after = rest:match('^"([^"]*)"%s*(.*)$')
    if not word then
      word, after = rest:match('^(%S+)%s*(.*)$')
    end
    ---@cast after string the rest is not empty, so one of the patterns matched
    if word ~= '' then
      list[#list + 1] = word
    end
    rest = after
  end
  return list
end

---Split a keyword search into its question and terms.
---@param text string
---@return string query
---@return string[]? terms
local function split_terms(text)
  local query, terms = text:match('^(.-)%s+%-%-%s+(.*)$')
  if not (query and terms) then
    return text, nil
  end
  return query, words(terms)
end

-- Shorter words are similar to too many others.
local LETTERS_PER_MISTAKE = 6

---Return the number of letters to change, insert, delete or swap with the next one to turn one word
---into another.
---@param left string
---@param right string
---@return integer
local function distance(left, right)
  local rows = { [0] = vim.fn.range(0, #right) } ---@type table<integer, table<integer, any>>
  for line = 1, #left do
    local above = rows[line - 1]
    local row = { line } ---@type table<integer, any>
    for column = 1, #right do
      local differs = left:byte(line) == right:byte(column) and 0 or 1
      row[column + 1] = math.min(above[column + 1] + 1, row[column] + 1, above[column] + differs)
      local pair = left:sub(line - 1, line)
      if line > 1 and column > 1 and pair:reverse() == right:sub(column - 1, column) then
        row[column + 1] = math.min(row[column + 1], rows[line - 2][column - 1] + 1)
      end
    end
    rows[line] = row
  end
  return rows[#left][#right + 1] --[[@as integer]]
end

---Return the name that a mistyped word is close to, if any.
---@param typed string
---@param names string[]
---@return string?
function M.similar(typed, names)
  local best, fewest ---@type string?, integer?
  for _, name in ipairs(names) do
    local changes = distance(typed, name)
    local is_similar = changes > 0 and changes <= #name / LETTERS_PER_MISTAKE
    if is_similar and changes < (fewest or 9) then
      best, fewest = name, changes
    end
  end
  return best
end

---@param text string
---@return string
local function sorted_letters(text)
  return table.concat(vim.fn.sort(vim.split(text, '')))
end

---Return the param that a mistyped name is close to, or ends with: `type` for `file_types`. In a
---short name, a missing, additional or swapped letter is a mistake, but another letter is another
---name: `node` is no mistyped `mode`.
---@param typed string
---@param names string[]
---@return string?
local function similar_param(typed, names)
  local lower = typed:lower()
  for _, name in ipairs(names) do
    local is_other_name = #lower == #name and sorted_letters(lower) ~= sorted_letters(name)
    local is_end = name:match('_' .. lower .. 's?$') ~= nil
    if is_end or distance(lower, name) <= 1 and not is_other_name then
      return name
    end
  end
  return M.similar(lower, names)
end

---Return the other modes that have a param.
---@param name string
---@return string[]
local function modes_with(name)
  local modes = vim.tbl_filter(function(mode)
    return M.params[mode][name] ~= nil
  end, vim.tbl_keys(M.params))
  table.sort(modes)
  return modes
end

---Raise an error if a name before a query is a mistyped param, or one of another mode. Any other
---name belongs to the query.
---@param mode winnow.Mode
---@param name string
local function check_name(mode, name)
  local others = modes_with(name)
  if #others > 0 then
    local text = 'winnow: `%s` is a parameter of %s, not of %s. Put `--` before a query.'
    error(text:format(name, table.concat(others, ', '), mode), 0)
  end
  local names = vim.list_extend(vim.tbl_keys(M.params[mode]), vim.tbl_keys(M.options))
  table.sort(names)
  local similar = similar_param(name, names)
  if similar then
    local text = 'winnow: unknown parameter `%s`. Did you mean `%s`? Put `--` before a query.'
    error(text:format(name, similar), 0)
  end
end

---Split a text into a leading `name=value` and the rest.
---@param text string
---@return string? name
---@return string typed
---@return string rest
local function split_param(text)
  local name, from_sign = text:match('^([%w_]+)(=.*)$')
  if not (name and from_sign) then
    return nil, '', text
  end
  local value, rest = from_sign:match('^(.-[^\\])%s+(.*)$')
  return name, ((value or from_sign):sub(2):gsub('\\(%s)', '%1')), rest or ''
end

---Parse a typed request. Raise an error for an invalid value or a mistyped name.
---@param mode winnow.Mode
---@param text string
---@return winnow.ParsedRequest
function M.parse(mode, text)
  local kinds = M.params[mode]
  ---@type winnow.ParsedRequest
  local request = { query = '', params = {} }
  local rest = vim.trim(text)
  while true do
    local name, typed, after = split_param(rest)
    local kind = name and (M.options[name] or kinds[name])
    if not kind then
      -- A quoted value is code, such as HTML.
      if name and after ~= '' and not typed:find('^["\']') then
        check_name(mode, name)
      end
      break
    end
    local value = value_of(typed, kind)
    if value == nil then
      error(('winnow: `%s=%s`: expected %s'):format(name, typed, expected(kind)), 0)
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
    request.query, request.terms = split_terms(rest)
  end
  return request
end

---Format params as typed text: `path=src word=true `.
---@param params table<string, any>
---@return string
function M.format_params(params)
  local text = ''
  for name, value in vim.spairs(params) do
    local typed = type(value) == 'table' and table.concat(value, ',') or tostring(value)
    text = ('%s%s=%s '):format(text, name, (typed:gsub('%s', '\\%0')))
  end
  return text
end

---Format a request as typed text, without its params.
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
