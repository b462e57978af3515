-- The options of the plugin and their defaults. Settings of the server belong in
-- `vim.lsp.config('winnow', { settings = { winnow = … } })`.

local M = {}

---When this server answers requests for definitions, references and workspace symbols: where no
---other server does, always, or never.
---@alias winnow.StandardMethods 'auto'|'always'|'never'

---The options of a user. Missing options have their defaults.
---@class winnow.Options
---@field picker? winnow.PickerName
---@field list? winnow.ListKind
---@field open_list? boolean
---@field history? integer
---@field complete? winnow.Complete
---@field params? table<winnow.Mode, table<string, any>>
---@field standard_methods? winnow.StandardMethods
---@field layout? 'auto'|'side'|'vertical'
---@field reasons? 'beside'|'below'
---@field icons? boolean
---@field preview? boolean
---@field width? number
---@field height? number
---@field keys? table<string, string[]|false>

---@class winnow.Config: winnow.Options
---@field picker winnow.PickerName
---@field list winnow.ListKind
---@field open_list boolean
---@field history integer
---@field complete? winnow.Complete
---@field params table<winnow.Mode, table<string, any>>
---@field standard_methods winnow.StandardMethods
---@field layout 'auto'|'side'|'vertical'
---@field reasons 'beside'|'below'
---@field icons boolean
---@field preview boolean
---@field width number
---@field height number
---@field keys table<string, string[]|false>
M.defaults = {
  -- The picker that shows results.
  picker = 'builtin',
  -- The list that `:Winnow!` fills, and whether to open its window.
  list = 'quickfix',
  open_list = true,
  -- Number of searches to remember across sessions; 0 for none.
  history = 100,
  -- A function that answers a prompt with another plugin's model; see |winnow-complete|.
  complete = nil,
  -- Params of each mode's requests, with the server's names.
  params = {
    -- Many files contain a question's words. With less context, such terms are still useful.
    keyword = { max_results = 50, broad_terms = 'shrink' },
    docs = {},
    symbols = { max_results = 100 },
    grep = { max_results = 500, context_lines = 0 },
    semantic = { top_k = 30 },
    code = { limit = 50 },
    files = { limit = 100 },
  },
  -- With |vim.lsp.enable()|: when to answer definitions, references and workspace symbols.
  standard_methods = 'auto',
  -- The picker: the place of its preview ('auto' chooses by the width of the screen) and of the
  -- reasons, icons if a plugin for them is loaded, its size as fractions of the screen, and the
  -- keys of each action.
  layout = 'auto',
  reasons = 'beside',
  icons = true,
  preview = true,
  width = 0.9,
  height = 0.85,
  keys = {
    next = { '<C-n>', '<C-j>', '<Down>' },
    previous = { '<C-p>', '<C-k>', '<Up>' },
    page_down = { '<PageDown>' },
    page_up = { '<PageUp>' },
    open = { '<CR>' },
    split = { '<C-x>', '<C-s>' },
    vsplit = { '<C-v>' },
    tab = { '<M-t>' },
    select_next = { '<Tab>' },
    select_previous = { '<S-Tab>' },
    select_all = { '<C-a>' },
    quickfix = { '<C-q>' },
    loclist = { '<C-l>' },
    open_document = { '<M-o>' },
    next_mode = { '<C-t>' },
    previous_mode = { '<M-T>' },
    edit_query = { '<C-g>' },
    search_in_files = { '<M-s>' },
    toggle_ignored = { '<M-i>' },
    toggle_hidden = { '<M-h>' },
    older_query = { '<C-Up>' },
    newer_query = { '<C-Down>' },
    preview_down = { '<C-f>' },
    preview_up = { '<C-b>' },
    preview_line_down = { '<C-e>' },
    preview_line_up = { '<C-y>' },
    preview_right = { '<M-Right>' },
    preview_left = { '<M-Left>' },
    toggle_preview = { '<M-p>' },
    details = { '<C-_>', '<C-/>' },
    help = { '?', '<F1>' },
    stop = { '<C-c>' },
    close = { '<Esc>' },
  },
}

-- What the keys do, in the order of the picker's list of keys.
local KEY_HELP = {
  { 'open', 'open the result' },
  { 'split', 'open it in a split' },
  { 'vsplit', 'open it in a vertical split' },
  { 'tab', 'open it in a tab' },
  { 'next', 'next result' },
  { 'previous', 'previous result' },
  { 'page_down', 'one page down' },
  { 'page_up', 'one page up' },
  { 'next_mode', 'search in the next mode' },
  { 'previous_mode', 'search in the previous mode' },
  { 'edit_query', 'switch query and filter' },
  { 'search_in_files', 'search in the listed files' },
  { 'toggle_ignored', 'search ignored files, too' },
  { 'toggle_hidden', 'search hidden files, too' },
  { 'older_query', 'previous query of this mode' },
  { 'newer_query', 'next query of this mode' },
  { 'select_next', 'select it and move down' },
  { 'select_previous', 'select it and move up' },
  { 'select_all', 'select all' },
  { 'quickfix', 'send to the quickfix list' },
  { 'loclist', 'send to the location list' },
  { 'open_document', 'open the original document' },
  { 'preview_down', 'scroll the preview down' },
  { 'preview_up', 'scroll the preview up' },
  { 'preview_line_down', 'scroll it by a line' },
  { 'preview_line_up', 'scroll it back by a line' },
  { 'preview_right', 'scroll it to the right' },
  { 'preview_left', 'scroll it to the left' },
  { 'toggle_preview', 'show or hide the preview' },
  { 'details', 'details of result and answer' },
  { 'help', 'these keys' },
  { 'stop', 'stop the search, or close' },
  { 'close', 'close' },
}

---Return the picker's keys and what they do, as lines of text.
---@return string[]
function M.key_lines()
  local lines = {}
  for _, help in ipairs(KEY_HELP) do
    local keys = M.current.keys[help[1]] or {}
    if #keys > 0 then
      lines[#lines + 1] = ('%-20s %s'):format(table.concat(keys, ' '), help[2])
    end
  end
  return lines
end

---Return how to see the picker's keys; empty if no key shows them.
---@return string
function M.key_hint()
  local key = (M.current.keys.help or {})[1]
  return key and ('%s lists the keys.'):format(key) or ''
end

---@type winnow.Config
M.current = vim.deepcopy(M.defaults)

local CHOICES = {
  picker = { 'builtin', 'telescope', 'fzf_lua', 'snacks' },
  list = { 'quickfix', 'loclist' },
  standard_methods = { 'auto', 'always', 'never' },
  layout = { 'auto', 'side', 'vertical' },
  reasons = { 'beside', 'below' },
}

---@param value any
---@return boolean
local function is_key_list(value)
  return value == false
    or (
      vim.islist(value)
      and vim.iter(value):all(function(key)
        return type(key) == 'string'
      end)
    )
end

local function is_fraction(value)
  return type(value) == 'number' and value > 0 and value <= 1
end

---Return what is expected of an option if its value is invalid, or nil.
---@param name string
---@param value any
---@return string?
local function expected_instead(name, value)
  if CHOICES[name] then
    local choices = CHOICES[name]
    return not vim.list_contains(choices, value) and 'one of ' .. table.concat(choices, ', ') or nil
  elseif name == 'complete' then
    return not vim.is_callable(value) and 'a function' or nil
  elseif name == 'width' or name == 'height' then
    return not is_fraction(value) and 'a number above 0, at most 1' or nil
  elseif name == 'history' then
    local is_valid = type(value) == 'number' and value >= 0 and value % 1 == 0
    return not is_valid and 'a whole number, 0 or more' or nil
  end
  local kind = type(M.defaults[name])
  return type(value) ~= kind and 'a ' .. kind or nil
end

---@param problems string[]
---@param name string
---@param values table<string, any>
---@param is_valid fun(value: any): boolean
---@param expected string
local function check_table(problems, name, values, is_valid, expected)
  for key, value in pairs(values) do
    if M.defaults[name][key] == nil then
      problems[#problems + 1] = ('unknown option `%s.%s`'):format(name, key)
    elseif not is_valid(value) then
      problems[#problems + 1] = ('`%s.%s`: expected %s'):format(name, key, expected)
    end
  end
end

---Return descriptions of all invalid options.
---@param options any
---@return string[]
function M.problems(options)
  if type(options) ~= 'table' then
    return { 'expected a table of options' }
  end
  local problems = {}
  for name, value in pairs(options) do
    local expected = expected_instead(name, value)
    if M.defaults[name] == nil and name ~= 'complete' then
      problems[#problems + 1] = ('unknown option `%s`'):format(name)
    elseif expected then
      problems[#problems + 1] = ('`%s`: expected %s'):format(name, expected)
    elseif name == 'keys' then
      check_table(problems, 'keys', value, is_key_list, 'a list of keys, or false')
    elseif name == 'params' then
      check_table(problems, 'params', value, function(params)
        return type(params) == 'table'
      end, 'a table of params')
    end
  end
  table.sort(problems)
  return problems
end

---Set the user's options. If any is invalid, raise an error that names all invalid ones and change
---nothing.
---@param options? winnow.Options
function M.set(options)
  local problems = M.problems(options or {})
  if #problems > 0 then
    error('winnow.setup: ' .. table.concat(problems, '; '), 0)
  end
  M.current = vim.tbl_deep_extend('force', vim.deepcopy(M.defaults), options or {})
  -- The user's keys replace an action's default keys instead of adding to them.
  for action, keys in pairs((options or {}).keys or {}) do
    M.current.keys[action] = keys
  end
end

return M
