-- Answer `$/complete`: rank with the user's own model.

local config = require('winnow.config')

local M = {}

-- Error codes of LSP.
local REQUEST_FAILED = -32803
local REQUEST_CANCELLED = -32800

---Pending requests, each with the function that cancels it.
---@type table<table, fun()>
local pending = {}

---@param code integer
---@param message string
local function failure(code, message)
  return vim.lsp.rpc_response_error(code, message)
end

---Answer the server. Neovim runs handlers of server requests in a coroutine and sends the values
---they return, so this handler yields until the user's function has answered.
---@param params winnow.CompleteRequest
---@async
---@return table? result
---@return table? err
function M.answer(params)
  local complete = config.current.complete
  if not complete then
    return nil, failure(REQUEST_FAILED, 'no `complete` function is configured')
  end
  local thread = assert(coroutine.running(), 'request handlers are coroutines')
  local request, answered, is_waiting = {}, false, false
  local result, failed ---@type table?, table?

  local function finish(answer, err)
    if answered then
      return
    end
    answered, result, failed = true, answer, err
    pending[request] = nil
    if is_waiting then
      vim.schedule(function()
        coroutine.resume(thread)
      end)
    end
  end

  local ok, stop = pcall(complete, params, function(text, model_or_error)
    if type(text) == 'string' then
      finish({ text = text, model = model_or_error })
    else
      local message = tostring(model_or_error or 'the model returned no text')
      finish(nil, failure(REQUEST_FAILED, message))
    end
  end)
  if not ok then
    finish(nil, failure(REQUEST_FAILED, tostring(stop)))
  end
  if not answered then
    pending[request] = function()
      if type(stop) == 'function' then
        pcall(stop)
      end
      finish(nil, failure(REQUEST_CANCELLED, 'cancelled'))
    end
    is_waiting = true
    coroutine.yield()
  end
  return result, failed
end

---Cancel the pending request, if there is only one. Neovim doesn't pass request IDs to handlers, so
---with several the handler can't tell which to cancel, and the server drops the answer.
function M.cancel()
  local request, stop = next(pending)
  if stop and next(pending, request) == nil then
    stop()
  end
end

return M
