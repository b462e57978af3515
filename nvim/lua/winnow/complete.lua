-- `$/complete`: the server asks for an answer of the user's own model, to rank with it.

local config = require('winnow.config')

local M = {}

-- JSON-RPC's, as LSP spells them.
local REQUEST_FAILED = -32803
local REQUEST_CANCELLED = -32800

---Those that have not answered yet, with the function that ends each.
---@type table<table, fun()>
local pending = {}

---@param code integer
---@param message string
local function failure(code, message)
  return vim.lsp.rpc_response_error(code, message)
end

---Answer the server. Neovim calls handlers of a server's requests in a coroutine and sends what
---they return, so this one waits for the user's function by yielding.
---@param params winnow.CompleteRequest
---@async
---@return table? result
---@return table? err
function M.answer(params)
  local complete = config.current.complete
  if not complete then
    return nil, failure(REQUEST_FAILED, 'no `complete` function is configured')
  end
  local thread = assert(coroutine.running(), 'handlers of requests are coroutines')
  local request, answered, waits = {}, false, false
  local result, failed ---@type table?, table?

  local function finish(said, err)
    if answered then
      return
    end
    answered, result, failed = true, said, err
    pending[request] = nil
    if waits then
      vim.schedule(function()
        coroutine.resume(thread)
      end)
    end
  end

  local ok, stop = pcall(complete, params, function(text, said)
    if type(text) == 'string' then
      finish({ text = text, model = said })
    else
      finish(nil, failure(REQUEST_FAILED, tostring(said or 'the model returned no text')))
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
    waits = true
    coroutine.yield()
  end
  return result, failed
end

---The server wants no answer any more. Neovim does not tell handlers the id of a request, so that
---only a single one can be meant; of several, the server drops the answer.
function M.cancel()
  local request, stop = next(pending)
  if stop and next(pending, request) == nil then
    stop()
  end
end

return M
