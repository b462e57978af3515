-- Consent to send code to remote language models, and the list of sent requests.

local answers = require('winnow.answer')
local client = require('winnow.client')
local message = require('winnow.message')

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
  given = 'code may be sent, with your consent',
  refused = 'nothing is sent: you refused',
  always = 'code of every workspace may be sent (`llm.consent`)',
}

-- Number of files to show for each request; the log has all of them.
local SHOWN_FILES = 5

---Describe the state of a destination.
---@param destination winnow.Destination
---@return string
function M.state(destination)
  return ('%s: %s'):format(destination.destination, STATES[destination.state])
end

---Notify the user of the state of all destinations.
---@param answer winnow.Consent
local function notify_states(answer)
  local lines = vim.list_extend(vim.tbl_map(M.state, answer.destinations), answer.warnings)
  if #lines > 1 then
    return message.page('consent', lines)
  end
  message.show(lines[1] or 'no remote models')
end

---@param folder string
---@param action winnow.ConsentAction
---@param destinations? string[] the destinations shown to the user; nil for those of all models
local function decide(folder, action, destinations)
  local params = { action = action, destinations = destinations }
  client.call(folder, '$/consent', params, function(answer, problem)
    if not answer then
      return message.fail(problem --[[@as string]])
    end
    if action == 'give' then
      require('winnow.picker').on_consent(folder)
    end
    notify_states(answer --[[@as winnow.Consent]])
  end)
end

---@param destination winnow.Destination
---@return string
local function name_and_state(destination)
  local name, state = destination.destination, destination.state
  return state == 'needed' and name or ('%s (%s)'):format(name, state)
end

---Show the destinations and let the user decide.
---@param folder string
---@param answer winnow.Consent
local function choose(folder, answer)
  local undecided = vim.tbl_filter(function(destination)
    return destination.state ~= 'always'
  end, answer.destinations)
  if #undecided == 0 then
    return notify_states(answer)
  end
  -- Consent to a destination without models can only be withdrawn.
  local with_models = {}
  for _, destination in ipairs(undecided) do
    if #destination.models > 0 then
      with_models[#with_models + 1] = destination.destination
    end
  end
  local choices = vim.tbl_filter(function(action)
    return action ~= 'give' or #with_models > 0
  end, M.ACTIONS)
  local folders = table.concat(vim.tbl_map(vim.fs.basename, answer.workspace), ', ')
  local destinations = table.concat(vim.tbl_map(name_and_state, undecided), ', ')
  vim.ui.select(choices, {
    prompt = ('Winnow: send code of %s to %s?'):format(folders, destinations),
    format_item = function(action)
      return TITLES[action]
    end,
  }, function(action)
    if action then
      decide(folder, action, action == 'give' and with_models or nil)
    end
  end)
end

---Allow or refuse sending code of this workspace to remote models. Without an action, let the user
---choose. Raise an error for an unknown action.
---@param action? winnow.ConsentAction
function M.consent(action)
  local folder = client.root(0)
  if not action then
    client.call(folder, '$/consent', {}, function(answer, problem)
      if not answer then
        return message.fail(problem --[[@as string]])
      end
      choose(folder, answer --[[@as winnow.Consent]])
    end)
    return
  end
  if not vim.list_contains(M.ACTIONS, action) then
    local names = table.concat(M.ACTIONS, ', ')
    error(('winnow: unknown decision `%s`; use one of %s'):format(action, names), 0)
  end
  decide(folder, action)
end

---@param number integer
---@param noun string
---@return string
local function count(number, noun)
  return ('%s %s'):format(answers.format_number(number), number == 1 and noun or noun .. 's')
end

---@param request winnow.AuditedRequest
---@return string[]
local function request_lines(request)
  -- If the model did not report its tokens, the log has the maximum.
  local is_maximum = not request.input_tokens and request.tokens > 0
  local tokens = (is_maximum and 'at most ' or '') .. count(request.tokens, 'token')
  local cost = request.cost_usd and (', $%.6f'):format(request.cost_usd) or ''
  local lines = {
    ('%s  %s at %s%s: %s, %s, %s%s, %s'):format(
      request.time,
      request.answered_by or request.model,
      request.destination,
      request.remote and '' or ' (this machine)',
      count(#request.files, 'file'),
      count(request.bytes, 'byte'),
      tokens,
      cost,
      ((request.outcome or 'no answer yet'):gsub('_', ' '))
    ),
  }
  local redacted = answers.format_counts(request.redactions)
  if redacted then
    lines[#lines + 1] = '    redacted: ' .. redacted
  end
  for _, path in ipairs(vim.list_slice(request.files, 1, SHOWN_FILES)) do
    lines[#lines + 1] = '    ' .. path
  end
  if #request.files > SHOWN_FILES then
    lines[#lines + 1] = ('    and %d more'):format(#request.files - SHOWN_FILES)
  end
  return lines
end

---@param today winnow.DailyUsage
---@return string
local function usage_line(today)
  local tokens = count(today.tokens, 'token')
  if today.daily_tokens then
    tokens = ('%s of %s'):format(tokens, answers.format_number(today.daily_tokens))
  end
  local cost = ('$%.6f'):format(today.cost_usd)
  if today.daily_usd then
    cost = ('%s of $%.2f'):format(cost, today.daily_usd)
  end
  local requests = count(today.requests, 'request')
  return ('to other machines since midnight UTC: %s, %s, %s'):format(requests, tokens, cost)
end

---Return the answer of `$/audit` as lines of text.
---@param answer winnow.Audit
---@return string[]
local function audit_lines(answer)
  local lines = {}
  for _, request in ipairs(answer.requests) do
    vim.list_extend(lines, request_lines(request))
  end
  if #lines == 0 then
    lines[1] = 'no requests to any model yet'
  end
  lines[#lines + 1] = usage_line(answer.today)
  if answer.truncated then
    local total = answers.format_number(answer.total_found)
    lines[#lines + 1] = ('the last %d of %s requests'):format(answer.returned, total)
  end
  vim.list_extend(lines, answer.warnings)
  if answer.log then
    lines[#lines + 1] = 'log: ' .. answer.log
  end
  return lines
end

---Show the requests to language models from all workspaces, the latest first.
function M.audit()
  client.call(client.root(0), '$/audit', {}, function(answer, problem)
    if not answer then
      return message.fail(problem --[[@as string]])
    end
    message.page('audit', audit_lines(answer --[[@as winnow.Audit]]))
  end)
end

return M
