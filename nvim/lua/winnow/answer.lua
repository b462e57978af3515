-- Describe an answer in words: the number of results, the ranker, and what the search left out.

local message = require('winnow.message')

local M = {}

-- How to consent to a remote model. With the number of results, it fits a narrow list.
local ALLOW = ':Winnow consent to use a model'

-- The server names tools and their params, for which users type commands.
---@type [string, string][]
local COMMANDS = {
  { '`index (%w+)`', '`:Winnow index %1`' },
  { "`index` with action '(%w+)'", '`:Winnow index %1`' },
  { '`index_status`', '`:Winnow status`' },
  { '`search_docs`', '`:Winnow docs`' },
  { '`%$/consent`', '`:Winnow consent`' },
  { '`winnow doctor`', '`:checkhealth winnow`' },
  { 'pass `(%w+)` %(`%-%w`%)', 'put `%1=true` before the query' },
  { 'pass `multiline`', 'put `multiline=true` before the query' },
  -- The details have the reasons anyway.
  { ': see `failed`', '' },
  {
    '`grep` with include_ignored and include_hidden',
    '`:Winnow grep include_ignored=true include_hidden=true`',
  },
  { '`grep` with include_submodules', '`:Winnow grep include_submodules=true`' },
}
-- No mode finds the names of these files.
local FIND_NAMES = ': use `grep` with include_ignored and include_hidden'

---Replace what the server calls tools and params by what users type.
---@param text string
---@param mode? winnow.Mode
---@return string
local function with_commands(text, mode)
  if mode == 'files' then
    text = text:gsub(vim.pesc(FIND_NAMES), '')
  end
  if mode then
    text = text:gsub('pass (include_.*)$', function(names)
      return ('put %s before the query'):format((names:gsub('include_%a+', '`%0=true`')))
    end)
  end
  for _, replacement in ipairs(COMMANDS) do
    text = text:gsub(replacement[1], replacement[2])
  end
  return text
end

---Return a number with commas between groups of digits.
---@param number integer
---@return string
function M.format_number(number)
  local text = tostring(number):reverse():gsub('(%d%d%d)', '%1,'):reverse()
  return (text:gsub('^,', ''))
end
local format_number = M.format_number

-- The plural and singular of what an answer's results are.
---@type table<string, [string, string]>
local NOUNS = {
  keyword = { 'files', 'file' },
  docs = { 'lines', 'line' },
  symbols = { 'definitions', 'definition' },
  grep = { 'matches', 'match' },
  semantic = { 'passages', 'passage' },
  -- The kinds of search that code search chooses from.
  file = { 'files', 'file' },
  symbol = { 'places', 'place' }, -- that define a name, or use it
  text = { 'files with this text', 'file with this text' },
}

---Return "20 of 134 files", "20 of at least 134 files" if the total is a lower bound, "no files".
---@param mode winnow.Mode
---@param answer winnow.Answer
---@param items winnow.Item[] the results shown
---@return string
function M.count(mode, answer, items)
  local total = math.max(answer.total_matches or answer.total_found, #items)
  local lists_files = items[1] and items[1].is_file
  local kind = answer.search_type_used or (lists_files and 'file') or mode
  local nouns = NOUNS[kind] or { 'results', 'result' }
  local at_least = answer.total_is_lower_bound and 'at least ' or ''
  if total == 0 then
    return 'no ' .. nouns[1]
  end
  local noun = total == 1 and nouns[2] or nouns[1]
  return ('%s of %s%s %s'):format(format_number(#items), at_least, format_number(total), noun)
end

---@param usage { input_tokens: integer, output_tokens: integer, cost_usd?: number }
---@return string
local function cost(usage)
  local tokens = ('%s tokens'):format(format_number(usage.input_tokens + usage.output_tokens))
  return usage.cost_usd and ('%s, $%.4f'):format(tokens, usage.cost_usd) or tokens
end

-- The server's reason if the user has set up no model, which needs no mention in every search.
local NO_MODEL = 'no language model'

---Return the model that ranked the results, or why none did although the user has set one up.
---@param answer winnow.Answer
---@return string?
function M.ranked_by(answer)
  local by = answer.ranked_by
  if by and by.kind == 'llm' then
    local who = ('ranked by %s'):format(by.model or 'a language model')
    who = answer.usage and ('%s (%s)'):format(who, cost(answer.usage)) or who
    return answer.not_chosen and ('%s, which chose %d'):format(who, answer.returned) or who
  elseif by and by.needs_consent then
    return ALLOW
  elseif by and by.fallback_reason and not vim.startswith(by.fallback_reason, NO_MODEL) then
    return 'ranked locally: ' .. by.fallback_reason
  end
end

---Return the non-zero counts by name, as text.
---@param counts? table<string, integer>
---@return string?
function M.format_counts(counts)
  local parts = {}
  for name, count in vim.spairs(counts or {}) do
    if count > 0 then
      parts[#parts + 1] = ('%s %s'):format(format_number(count), (name:gsub('_', ' ')))
    end
  end
  return #parts > 0 and table.concat(parts, ', ') or nil
end
local format_counts = M.format_counts

local STATUS = {
  too_broad = 'too broad',
  peeled = 'left out to fit',
  no_match = 'no match',
  invalid = 'not a regular expression',
  timed_out = 'timed out',
  shrunk = 'narrowed',
}

---@param terms? { term: string, status: string, detail?: string }[]
---@return string?
local function unused_terms(terms)
  local parts = {}
  for _, report in ipairs(terms or {}) do
    if report.status ~= 'used' then
      parts[#parts + 1] = ('%s (%s)'):format(report.term, STATUS[report.status] or report.status)
    end
  end
  return #parts > 0 and 'terms: ' .. table.concat(parts, ', ') or nil
end

---@param failed? { path: string, reason: string, member?: string }[]
---@return string?
local function unread(failed)
  failed = failed or {}
  local first = failed[1]
  if not first then
    return nil
  end
  local more = #failed > 1 and (' and %d more'):format(#failed - 1) or ''
  return ('not read: %s (%s)%s'):format(first.path, first.reason, more)
end

---@param terms? { status: string }[]
---@return boolean
local function is_narrowed(terms)
  return vim.iter(terms or {}):any(function(report)
    return report.status == 'shrunk'
  end)
end

---Return the state of an incomplete index: half complete as soon as all texts are indexed, and more
---with their definitions.
---@param completeness winnow.Completeness
---@return string?
local function index_state(completeness)
  local index = completeness.index
  if index and index.state ~= 'ready' and index.state ~= 'none' and index.files_total > 0 then
    local texts = math.max(index.files_indexed, index.texts_indexed or 0)
    local percent = math.floor(50 * (index.files_indexed + texts) / index.files_total)
    local text = index.waits_for and 'the index waits at %d %%' or 'the index is %d %% complete'
    return text:format(math.min(99, percent))
  end
end

---Return the documents that are still being read.
---@param answer winnow.Answer
---@return string?
local function pending(answer)
  if answer.pending then
    local documents = answer.pending == 1 and 'document is' or 'documents are'
    return ('%s %s still being read; search again'):format(format_number(answer.pending), documents)
  end
end

---Return which words of the question the code does not have.
---@param words? string[]
---@return string?
local function unknown(words)
  if words and #words > 0 then
    return ('no text file contains "%s"'):format(table.concat(words, '" or "'))
  end
end

---@param completeness winnow.Completeness
---@return string
local function incomplete(completeness)
  local index = completeness.index
  return index and index.state == 'none' and 'no index' or 'incomplete'
end

-- Searches whose warnings say how the answer differs from what was asked, such as a corrected word.
-- The warnings of others are about files and lines that were left out, and more frequent.
local WARNS = { code = true, semantic = true }

---Return what the user should know first about an answer, in a few words, or nil.
---@param mode winnow.Mode
---@param answer winnow.Answer
---@return string?
function M.notice(mode, answer)
  local completeness = answer.completeness
  if completeness.timed_out then
    return 'stopped early: out of time'
  end
  return index_state(completeness)
    or unknown(answer.unknown_words)
    or pending(answer)
    or unread(answer.failed)
    or (is_narrowed(answer.terms) and 'broad terms narrowed')
    or (not completeness.complete and incomplete(completeness) or nil)
    or (WARNS[mode] and answer.warnings[1] or nil)
end

-- What each search looks at.
local BY = {
  file = 'by file name',
  symbol = 'by name',
  text = 'for this text',
  semantic = 'by meaning',
}

---Return which search was used, and why, unless the mode is for one kind of search.
---@param answer winnow.Answer
---@return string?
local function how(answer)
  local by = BY[answer.search_type_used]
  if not by or not answer.reason or vim.startswith(answer.reason, 'search_type is') then
    return nil
  end
  local fallback = answer.fallback
  if not fallback or fallback.partly then
    -- The server repeats the query.
    local why = answer.reason:gsub('^([\'"]).-%1: ', '')
    return ('searched %s, because %s'):format(by, why)
  end
  local used = fallback.from == 'semantic' and 'for the words of the query' or by
  return ('searched %s, not %s: %s'):format(used, BY[fallback.from], fallback.reason)
end

---Return true if one of the lines contains a text.
---@param lines string[]
---@param text string
---@return boolean
local function has_text(lines, text)
  for _, line in ipairs(lines) do
    if line:find(text, 1, true) then
      return true
    end
  end
  return false
end

---Return everything about an answer: how it was found, warnings, and what it lacks.
---@param mode winnow.Mode
---@param answer winnow.Answer
---@return string[]
function M.details(mode, answer)
  local lines = {}
  local function add(format, value)
    if not value then
      return
    end
    local line = with_commands(format:format(value), mode)
    -- A fallback is often also a reason why the answer is incomplete.
    if not has_text(lines, line) then
      lines[#lines + 1] = line
    end
  end
  local function add_all(values)
    for _, value in ipairs(values) do
      add('%s', value)
    end
  end
  local completeness, by = answer.completeness, answer.ranked_by
  add('%s', unknown(answer.unknown_words))
  add('%s', how(answer))
  -- Without results, the engine and the ranker do not matter.
  add('engine: %s', answer.total_found ~= 0 and answer.engine)
  add('ranked locally: %s', answer.total_found ~= 0 and by and by.fallback_reason)
  add_all(answer.warnings)
  add('%s', unused_terms(answer.terms))
  add('%s', answer.fallback and answer.fallback.reason)
  add_all(completeness.reasons)
  add('%s', index_state(completeness))
  add('left out: %s', format_counts(completeness.skipped))
  add('%s', unread(answer.failed))
  add('%s', pending(answer))
  add('secrets replaced: %s', format_counts(answer.redactions))
  -- They are names of symbols.
  local suggestions = mode ~= 'files' and answer.suggestions
  add('did you mean: %s', suggestions and table.concat(suggestions, ', '))
  return lines
end

---Return the reason why a request failed.
---@param err lsp.ResponseError
---@return string
function M.problem(err)
  local destinations = vim.tbl_get(err, 'data', 'needs_consent')
  if destinations and #destinations > 0 then
    return 'no language model is available; ' .. ALLOW
  end
  return with_commands(err.message or tostring(err))
end

---Notify the user of a finished search in one line: the number of results, and the most important
---of what they lack.
---@param search winnow.Search
function M.report(search)
  if search.problem then
    return message.fail(search.problem)
  elseif #search.items > 0 then
    return message.show(search:summary())
  end
  message.warn(table.concat(vim.list_extend({ 'no results' }, search:details()), ' · '))
end

return M
