-- The Lua API. Other modules are loaded on first use.

local M = {}

---Set options; see |winnow-options|. Needed only to change a default.
---@param options? winnow.Options
function M.setup(options)
  require('winnow.config').set(options)
end

---Search and show the results in the configured picker, or in a list if the request has one.
---Without a query, the picker prompts for it; without a mode, it searches for everything.
---@param mode? winnow.Mode
---@param request? winnow.Request
function M.open(mode, request)
  request = request or {}
  mode = mode or require('winnow.modes').names[1] --[[@as winnow.Mode]]
  require('winnow.modes').get(mode)
  if request.list then
    if vim.trim(request.query or '') == '' then
      error('winnow: a list needs a query', 0)
    end
    require('winnow.history').add(mode, request)
    return require('winnow.lists').search(mode, request)
  end
  if #vim.fn.getcmdwintype() > 0 then
    return require('winnow.message').fail('close the command-line window first')
  end
  local picker = request.picker or require('winnow.config').current.picker
  if picker == 'builtin' then
    return require('winnow.picker').open(mode, request)
  end
  return require('winnow.adapters').open(picker, mode, request)
end

---Search without showing the results. Call `done` once, with all items and the server's answer or
---with a problem.
---@param mode winnow.Mode
---@param request winnow.Request
---@param done fun(items?: winnow.Item[], answer?: winnow.Answer, problem?: string)
---@return fun() cancel
function M.search(mode, request, done)
  local running = require('winnow.search').start(mode, request, {
    on_update = function(search)
      if search.problem then
        done(nil, nil, search.problem)
      elseif not search.busy then
        done(search.items, search.answer)
      end
    end,
  })
  return function()
    running:cancel()
  end
end

---@param mode winnow.Mode
local function opener(mode)
  ---@param request? winnow.Request
  return function(request)
    return M.open(mode, request)
  end
end

M.keyword_search = opener('keyword')
M.search_docs = opener('docs')
M.find_symbol = opener('symbols')
M.grep = opener('grep')
M.semantic_search = opener('semantic')
M.code_search = opener('code')
M.find_file = opener('files')

---Reopen the last picker.
function M.resume()
  return require('winnow.picker').resume()
end

---Choose an earlier search and run it again.
function M.history()
  local entries = require('winnow.history').all()
  if #entries == 0 then
    return require('winnow.message').warn('no search history')
  end
  require('winnow.history').choose(entries, function(entry)
    M.open(entry.mode, { query = entry.query, terms = entry.terms, params = entry.params })
  end)
end

---Run an action on the index, or show its state.
---@param action? 'build'|'pause'|'resume'|'clear'|'refresh'|'status'
function M.index(action)
  require('winnow.status').index(action)
end

---Show the state of the server and its index.
function M.status()
  require('winnow.status').show()
end

---Allow or refuse sending code of this workspace to remote language models. Without an action, let
---the user choose.
---@param action? winnow.ConsentAction
function M.consent(action)
  require('winnow.egress').consent(action)
end

---List the requests to language models.
function M.audit()
  require('winnow.egress').audit()
end

---Open Neovim's LSP log, which includes the server's messages.
function M.log()
  vim.cmd.tabnew(vim.fn.fnameescape(vim.lsp.log.get_filename()))
  vim.bo.readonly = true
  vim.cmd('normal! G')
end

---Report an action on a result to the server, which affects the order of later searches.
---@param action 'opened'|'kept'|'dismissed'|'up'|'down'
---@param item winnow.Item
---@param search_id string of the answer
---@param folder? string the project's folder; defaults to that of the current buffer
function M.feedback(action, item, search_id, folder)
  local client = require('winnow.client')
  local params = { search_id = search_id, path = item.path, action = action, rank = item.rank }
  -- Ignore errors: learning may be disabled, or the index deleted.
  client.call(folder or client.root(0), '$/feedback', params, function() end)
end

---Return the location of the current line in a document ("page 3"), for a statusline.
---@return string
function M.place()
  return require('winnow.document').place()
end

return M
