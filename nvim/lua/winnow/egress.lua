-- What may be sent to language models on other machines, and what was.

local answers = require('winnow.answer')
local client = require('winnow.client')

local M = {}

---@type winnow.ConsentAction[]
M.ACTIONS = { 'give', 'refuse', 'withdraw' }

---@type table<winnow.ConsentAction, string>
local TITLES = {
  give = 'Allow for this workspace',
  refuse = 'Not for this workspace',
  withdraw = 'Withdraw',
}

local STATES = {
  needed = 'nothing is sent without your consent',
  given = 'code may be sent, by your consent',
  refused = 'nothing is sent: you refused',
  always = 'code of every workspace may be sent (`llm.consent`)',
}

-- Of the files of a request, what is shown; the log has them all.
local SHOWN_FILES = 5

---What holds for a destination.
---@param one winnow.Destination
---@return string
function M.state(one)
  return ('%s: %s'):format(one.destination, STATES[one.state])
end

---Say what holds for all of them.
---@param answer winnow.Consent
local function tell(answer)
  local said = vim.list_extend(vim.tbl_map(M.state, answer.destinations), answer.warnings)
  vim.notify('winnow: ' .. table.concat(said, '\n'))
end

---@param folder string
---@param action winnow.ConsentAction
---@param destinations? string[] those that were shown; without, all that models have
local function decide(folder, action, destinations)
  local params = { action = action, destinations = destinations }
  client.ask(folder, '$/consent', params, function(answer, problem)
    if not answer then
      return answers.fail(problem --[[@as string]])
    end
    if action == 'give' then
      require('winnow.picker').allowed(folder)
    end
    tell(answer --[[@as winnow.Consent]])
  end)
end

---@param one winnow.Destination
---@return string
local function named(one)
  return one.state == 'needed' and one.destination or ('%s (%s)'):format(one.destination, one.state)
end

---Have somebody decide, who sees what about.
---@param folder string
---@param answer winnow.Consent
local function ask(folder, answer)
  local open = vim.tbl_filter(function(one)
    return one.state ~= 'always'
  end, answer.destinations)
  if #open == 0 then
    return tell(answer)
  end
  -- What was decided about a model that is there no more can only be taken back.
  local shown = {}
  for _, one in ipairs(open) do
    if #one.models > 0 then
      shown[#shown + 1] = one.destination
    end
  end
  local choices = vim.tbl_filter(function(action)
    return action ~= 'give' or #shown > 0
  end, M.ACTIONS)
  local folders = table.concat(vim.tbl_map(vim.fs.basename, answer.workspace), ', ')
  local where = table.concat(vim.tbl_map(named, open), ', ')
  vim.ui.select(choices, {
    prompt = ('Winnow: send code of %s to %s?'):format(folders, where),
    format_item = function(action)
      return TITLES[action]
    end,
  }, function(action)
    if action then
      decide(folder, action, action == 'give' and shown or nil)
    end
  end)
end

---Decide whether code of this workspace may be sent to models elsewhere; without an action, have
---somebody choose. Raises an error for an action that there is not.
---@param action? winnow.ConsentAction
function M.consent(action)
  local folder = client.root(0)
  if not action then
    client.ask(folder, '$/consent', {}, function(answer, problem)
      if not answer then
        return answers.fail(problem --[[@as string]])
      end
      ask(folder, answer --[[@as winnow.Consent]])
    end)
    return
  end
  if not vim.list_contains(M.ACTIONS, action) then
    local known = table.concat(M.ACTIONS, ', ')
    error(('winnow: unknown decision `%s`; use one of %s'):format(action, known), 0)
  end
  decide(folder, action)
end

---@param number integer
---@param what string
---@return string
local function count(number, what)
  return ('%s %s'):format(answers.grouped(number), number == 1 and what or what .. 's')
end

---@param one winnow.AuditedRequest
---@return string[]
local function of_request(one)
  -- Where nobody has told, the most that it can have been counts.
  local estimated = not one.input_tokens and one.tokens > 0
  local tokens = (estimated and 'at most ' or '') .. count(one.tokens, 'token')
  local cost = one.cost_usd and (', $%.6f'):format(one.cost_usd) or ''
  local said = {
    ('%s  %s at %s%s: %s, %s, %s%s, %s'):format(
      one.time,
      one.answered_by or one.model,
      one.destination,
      one.remote and '' or ' (this machine)',
      count(#one.files, 'file'),
      count(one.bytes, 'byte'),
      tokens,
      cost,
      ((one.outcome or 'not ended'):gsub('_', ' '))
    ),
  }
  local redacted = answers.counted(one.redactions)
  if redacted then
    said[#said + 1] = '    redacted: ' .. redacted
  end
  for _, path in ipairs(vim.list_slice(one.files, 1, SHOWN_FILES)) do
    said[#said + 1] = '    ' .. path
  end
  if #one.files > SHOWN_FILES then
    said[#said + 1] = ('    and %d more'):format(#one.files - SHOWN_FILES)
  end
  return said
end

---@param today winnow.DaysUse
---@return string
local function of_today(today)
  local tokens = count(today.tokens, 'token')
  if today.daily_tokens then
    tokens = ('%s of %s'):format(tokens, answers.grouped(today.daily_tokens))
  end
  local cost = ('$%.6f'):format(today.cost_usd)
  if today.daily_usd then
    cost = ('%s of $%.2f'):format(cost, today.daily_usd)
  end
  local requests = count(today.requests, 'request')
  return ('to other machines since midnight UTC: %s, %s, %s'):format(requests, tokens, cost)
end

---What `$/audit` says, a line each.
---@param answer winnow.Audit
---@return string[]
local function lines(answer)
  local said = {}
  for _, one in ipairs(answer.requests) do
    vim.list_extend(said, of_request(one))
  end
  if #said == 0 then
    said[1] = 'no requests to any model yet'
  end
  said[#said + 1] = of_today(answer.today)
  if answer.truncated then
    local total = answers.grouped(answer.total_found)
    said[#said + 1] = ('the last %d of %s requests'):format(answer.returned, total)
  end
  vim.list_extend(said, answer.warnings)
  if answer.log then
    said[#said + 1] = 'log: ' .. answer.log
  end
  return said
end

---Show what left this machine, from all workspaces, the last request first.
function M.audit()
  client.ask(client.root(0), '$/audit', {}, function(answer, problem)
    if not answer then
      return answers.fail(problem --[[@as string]])
    end
    local said = lines(answer --[[@as winnow.Audit]])
    vim.api.nvim_echo({ { table.concat(said, '\n') } }, true, {})
  end)
end

return M
