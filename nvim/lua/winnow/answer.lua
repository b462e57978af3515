-- What an answer says of itself, in words: who ranked, how many there are, what was left out.

local M = {}

-- What somebody can do who has not consented that a model on another machine is asked. It fits the
-- line for messages, with who ranked before it.
local ALLOW = ':Winnow consent to use a model'

---A number, with commas.
---@param number integer
---@return string
function M.grouped(number)
  local text = tostring(number):reverse():gsub('(%d%d%d)', '%1,'):reverse()
  return (text:gsub('^,', ''))
end
local grouped = M.grouped

---"20 of 134", or "at least" that many.
---@param answer winnow.Answer
---@param shown integer
---@return string
function M.count(answer, shown)
  local total = answer.total_matches or answer.total_found
  if answer.total_is_lower_bound then
    return ('%s of at least %s'):format(grouped(shown), grouped(math.max(total, shown)))
  end
  return ('%s of %s'):format(grouped(shown), grouped(math.max(total, shown)))
end

---@param usage { input_tokens: integer, output_tokens: integer, cost_usd?: number }
---@return string
local function cost(usage)
  local tokens = ('%s tokens'):format(grouped(usage.input_tokens + usage.output_tokens))
  return usage.cost_usd and ('%s, $%.4f'):format(tokens, usage.cost_usd) or tokens
end

---Who put the results in order, or which search it was and why.
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

---How many there are of each, but for what there is none of.
---@param counts? table<string, integer>
---@return string?
function M.counted(counts)
  local said = {}
  for name, count in vim.spairs(counts or {}) do
    if count > 0 then
      said[#said + 1] = ('%s %s'):format(grouped(count), (name:gsub('_', ' ')))
    end
  end
  return #said > 0 and table.concat(said, ', ') or nil
end
local counted = M.counted

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
local function term_fates(terms)
  local said = {}
  for _, one in ipairs(terms or {}) do
    if one.status ~= 'used' then
      said[#said + 1] = ('%s (%s)'):format(one.term, STATUS[one.status] or one.status)
    end
  end
  return #said > 0 and 'terms: ' .. table.concat(said, ', ') or nil
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

---Everything that the results lack, or that a reader should know, a sentence each.
---@param answer winnow.Answer
---@return string[]
function M.left_out(answer)
  local said = {}
  local function add(format, value)
    if value then
      said[#said + 1] = format:format(value)
    end
  end
  local completeness = answer.completeness
  vim.list_extend(said, answer.warnings)
  add('%s', term_fates(answer.terms))
  add('%s', answer.fallback and answer.fallback.reason)
  vim.list_extend(said, completeness.reasons)
  add('left out: %s', counted(completeness.skipped))
  add('%s', unread(answer.failed))
  add('%s documents are still being read; search again', answer.pending and grouped(answer.pending))
  local index = completeness.index
  -- Where an answer is not complete, the reasons say so already.
  if index and index.state ~= 'ready' and completeness.complete then
    local known = ('%s of %s files'):format(
      grouped(index.files_indexed),
      grouped(index.files_total)
    )
    add('the index is %s', ('%s (%s)'):format(index.state, known))
  end
  add('secrets replaced: %s', counted(answer.redactions))
  add('did you mean: %s', answer.suggestions and table.concat(answer.suggestions, ', '))
  return said
end

-- What Neovim needs of the line for messages, so that it does not ask for Enter.
local MESSAGE_MARGIN = 14

---Why a request has failed.
---@param err lsp.ResponseError
---@return string
function M.problem(err)
  local needed = vim.tbl_get(err, 'data', 'needs_consent')
  if needed and #needed > 0 then
    return 'no language model is available; ' .. ALLOW
  end
  return err.message or tostring(err)
end

---@param problem string
function M.fail(problem)
  vim.notify('winnow: ' .. problem, vim.log.levels.ERROR)
end

---Say how a search has ended where nothing shows it: how many there are, who ranked, what is
---missing.
---@param found winnow.Search
function M.report(found)
  if found.problem then
    return M.fail(found.problem)
  end
  local said = { found:summary() }
  vim.list_extend(said, found:left_out())
  local line = 'winnow: ' .. table.concat(said, ' · '):gsub('%s+', ' ')
  local room = math.max(40, vim.o.columns * vim.o.cmdheight - MESSAGE_MARGIN)
  -- Where nothing was found, why is all that there is to see.
  if #found.items > 0 and vim.fn.strdisplaywidth(line) > room then
    line = vim.fn.strcharpart(line, 0, room) .. '…'
  end
  vim.notify(line, #found.items == 0 and vim.log.levels.WARN or vim.log.levels.INFO)
end

return M
