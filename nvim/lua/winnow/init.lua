-- The Lua API. Each part of the plugin is loaded when it is first used.

local M = {}

---Set options; see |winnow-options|. Needed only to change a default.
---@param options? winnow.Options
function M.setup(options)
  require('winnow.config').set(options)
end

---Search, and show the results: in the picker that is set up, or as a list if the request says so.
---Without a query the picker asks for one.
---@param mode winnow.Mode
---@param request? winnow.Request
function M.open(mode, request)
  request = request or {}
  require('winnow.modes').get(mode)
  if request.list then
    if vim.trim(request.query or '') == '' then
      error('winnow: a list needs a query', 0)
    end
    require('winnow.history').add(mode, request)
    return require('winnow.lists').search(mode, request)
  end
  local picker = request.picker or require('winnow.config').current.picker
  if picker == 'builtin' then
    return require('winnow.picker').open(mode, request)
  end
  return require('winnow.adapters').open(picker, mode, request)
end

---Search, and hand on what is found: `done` is called once, with all items and the server's answer,
---or with a problem.
---@param mode winnow.Mode
---@param request winnow.Request
---@param done fun(items?: winnow.Item[], answer?: winnow.Answer, problem?: string)
---@return fun() cancel
function M.search(mode, request, done)
  local found = require('winnow.search').start(mode, request, {
    told = function(search)
      if search.problem then
        done(nil, nil, search.problem)
      elseif not search.busy then
        done(search.items, search.answer)
      end
    end,
  })
  return function()
    found:cancel()
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

---Open the last picker as it was left.
function M.resume()
  return require('winnow.picker').resume()
end

---Choose one of the searches that were made, and make it again.
function M.history()
  local known = require('winnow.history').all()
  if #known == 0 then
    vim.notify('winnow: no search history', vim.log.levels.WARN)
    return
  end
  local query = require('winnow.query')
  vim.ui.select(known, {
    prompt = 'Winnow: search again',
    format_item = function(one)
      return ('%-8s %s'):format(one.mode, query.format(one))
    end,
  }, function(one)
    if one then
      M.open(one.mode, { query = one.query, terms = one.terms, params = one.params })
    end
  end)
end

---Choose what kind of search, and be asked for its query.
function M.choose_mode()
  local modes = require('winnow.modes')
  vim.ui.select(modes.names, {
    prompt = 'Winnow',
    format_item = function(name)
      return ('%-8s %s'):format(name, modes.modes[name].title)
    end,
  }, function(name)
    if name then
      M.open(name)
    end
  end)
end

---Do something with the index, or say how it is.
---@param action? 'build'|'pause'|'resume'|'clear'|'refresh'
function M.index(action)
  require('winnow.status').index(action)
end

---Say what the server knows and how it ranks.
function M.status()
  require('winnow.status').show()
end

---Decide whether code of this workspace may be sent to language models on other machines; without
---an action, choose.
---@param action? winnow.ConsentAction
function M.consent(action)
  require('winnow.egress').consent(action)
end

---Say what left this machine.
function M.audit()
  require('winnow.egress').audit()
end

---Open the log of Neovim's language clients, in which what the server says stands.
function M.log()
  vim.cmd.tabnew(vim.fn.fnameescape(vim.lsp.log.get_filename()))
  vim.bo.readonly = true
  vim.cmd('normal! G')
end

---Tell the server what became of a result, which moves it in later searches.
---@param action 'opened'|'kept'|'dismissed'|'up'|'down'
---@param item winnow.Item
---@param search_id string of the answer
---@param folder? string of the project; else that of the current buffer
function M.feedback(action, item, search_id, folder)
  local client = require('winnow.client')
  local params = { search_id = search_id, path = item.path, action = action, rank = item.rank }
  -- Nothing hangs on it: learning may be turned off, the index gone.
  client.ask(folder or client.root(0), '$/feedback', params, function() end)
end

---Where the current line of a document's text stands ("page 3"), for a statusline.
---@return string
function M.place()
  return require('winnow.document').place()
end

return M
