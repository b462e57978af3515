-- Describe an answer in words: the ranker, the number of results and what the search left out.

local M = {}

-- How to consent to a remote model. Together with the ranker it fits the message line.
local ALLOW = ':Winnow consent to use a model'

---Return a number with commas between groups of digits.
---@param number integer
---@return string
function M.format_number(number)
  local text = tostring(number):reverse():gsub('(%d%d%d)', '%1,'):reverse()
  return (text:gsub('^,', ''))
end
local format_number = M.format_number

---Return "20 of 134", or "20 of at least 134" if the total is a lower bound.
---@param answer winnow.Answer
---@param shown integer
---@return string
function M.count(answer, shown)
  local total = answer.total_matches or answer.total_found
  if answer.total_is_lower_bound then
    return ('%s of at least %s'):format(format_number(shown), format_number(math.max(total, shown)))
  end
  return ('%s of %s'):format(format_number(shown), format_number(math.max(total, shown)))
end

---@param usage { input_tokens: integer, output_tokens: integer, cost_usd?: number }
---@return string
local function cost(usage)
  local tokens = ('%s tokens'):format(format_number(usage.input_tokens + usage.output_tokens))
  return usage.cost_usd and ('%s, $%.4f'):format(tokens, usage.cost_usd) or tokens
end

---Return who ranked the results, or which kind of search ran and why.
---@param answer winnow.Answer
---@return string?
function M.ranked_by(answer)
  local by = answer.ranked_by
  if by and by.kind == 'llm' then
    local who = ('ranked by %s'):format(by.model or 'a language model')
    who = answer.usage and ('%s (%s)'):format(who, cost(answer.usage)) or who
    return answer.not_chosen and ('%s, which chose %d'):format(who, answer.returned) or who
  elseif by and by.needs_consent then
    return 'ranked locally; ' .. ALLOW
  elseif by then
    local why = by.fallback_reason and (': ' .. by.fallback_reason) or ''
    return 'ranked by the local ranker' .. why
  elseif answer.search_type_used then
    return ('%s search: %s'):format(answer.search_type_used, answer.reason or '')
  elseif answer.engine then
    return 'engine: ' .. answer.engine
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
  shrunk = 'shrunk',
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

---Return the warnings of an answer and what its results lack.
---@param answer winnow.Answer
---@return string[]
function M.left_out(answer)
  local notes = {}
  local function add(format, value)
    if value then
      notes[#notes + 1] = format:format(value)
    end
  end
  local completeness = answer.completeness
  vim.list_extend(notes, answer.warnings)
  add('%s', unused_terms(answer.terms))
  add('%s', answer.fallback and answer.fallback.reason)
  vim.list_extend(notes, completeness.reasons)
  add('left out: %s', format_counts(completeness.skipped))
  add('%s', unread(answer.failed))
  add(
    '%s documents are still being read; search again',
    answer.pending and format_number(answer.pending)
  )
  local index = completeness.index
  -- If the answer is incomplete, its reasons already mention the index.
  if index and index.state ~= 'ready' and completeness.complete then
    local progress = ('%s of %s files'):format(
      format_number(index.files_indexed),
      format_number(index.files_total)
    )
    add('the index is %s', ('%s (%s)'):format(index.state, progress))
  end
  add('secrets replaced: %s', format_counts(answer.redactions))
  add('did you mean: %s', answer.suggestions and table.concat(answer.suggestions, ', '))
  return notes
end

-- Columns of the message line that Neovim needs. A longer message would make it wait for Enter.
local MESSAGE_MARGIN = 14

---Return the reason why a request failed.
---@param err lsp.ResponseError
---@return string
function M.problem(err)
  local destinations = vim.tbl_get(err, 'data', 'needs_consent')
  if destinations and #destinations > 0 then
    return 'no language model is available; ' .. ALLOW
  end
  return err.message or tostring(err)
end

---@param problem string
function M.fail(problem)
  vim.notify('winnow: ' .. problem, vim.log.levels.ERROR)
end

---Notify the user of a finished search: the number of results, the ranker and what is missing.
---@param search winnow.Search
function M.report(search)
  if search.problem then
    return M.fail(search.problem)
  end
  local parts = { search:summary() }
  vim.list_extend(parts, search:left_out())
  local line = 'winnow: ' .. table.concat(parts, ' · '):gsub('%s+', ' ')
  local room = math.max(40, vim.o.columns * vim.o.cmdheight - MESSAGE_MARGIN)
  -- Without results, show the complete explanation.
  if #search.items > 0 and vim.fn.strdisplaywidth(line) > room then
    line = vim.fn.strcharpart(line, 0, room) .. '…'
  end
  vim.notify(line, #search.items == 0 and vim.log.levels.WARN or vim.log.levels.INFO)
end

return M
