-- Start the language server of a project, and send it requests with partial results and immediate
-- cancellation.
--
-- After `client:cancel_request` Neovim never calls the callback, so a canceled request must not
-- wait for its answer. Neovim doesn't call it after a crash either, so a timer watches each
-- request.

local answers = require('winnow.answer')
local message = require('winnow.message')

local M = {}

local NAME = 'winnow'
local ROOT_MARKERS = { { 'winnow.toml', '.git' } }
-- The server is ready within a second; on a very busy machine it may take ten times that.
local START_MS = 30000
local POLL_MS = 5
local ALIVE_MS = 250
-- How long messages may still arrive after the end of their request.
local LATE_MS = 10000

---The listeners for partial results and progress of our requests, by token.
---@type table<string, fun(value: any)>
local listeners = {}
local tokens = 0

---Pass progress of our tokens to their listeners, and everything else to Neovim.
local function on_progress(err, params, context)
  local listen = listeners[params.token]
  if listen then
    listen(params.value)
  else
    vim.lsp.handlers['$/progress'](err, params, context)
  end
end

---Show a message of the server. Neovim would show all its lines and wait for Enter.
---@param params lsp.ShowMessageParams
local function on_message(_, params)
  local text = params.message:gsub('^Winnow: ', '')
  if params.type == vim.lsp.protocol.MessageType.Error then
    return message.fail(text)
  elseif params.type == vim.lsp.protocol.MessageType.Warning then
    return message.warn(text)
  end
  message.show(text)
end

-- The requests that any language server answers. Two answers would list every reference twice.
local STANDARD_METHODS = {
  ['textDocument/definition'] = true,
  ['textDocument/references'] = true,
  ['workspace/symbol'] = true,
}

---Return true if another server of a buffer answers a method.
---@param method string
---@param buf? integer
---@return boolean
local function another_answers(method, buf)
  return vim.iter(vim.lsp.get_clients({ bufnr = buf or 0 })):any(function(other)
    return other.name ~= NAME and not other:is_stopped() and other:supports_method(method, buf)
  end)
end

---Answer standard methods only where the option allows it. Neovim asks the client for each request,
---so this follows servers that start and stop.
---@param client vim.lsp.Client
local function limit_standard_methods(client)
  local supports = client.supports_method
  ---@param method string
  ---@param buf? integer|{ bufnr: integer }
  function client.supports_method(_, method, buf)
    if type(buf) == 'table' then
      buf = buf.bufnr
    end
    ---@cast buf integer?
    local when = require('winnow.config').current.standard_methods
    local is_limited = STANDARD_METHODS[method] and when ~= 'always'
    if is_limited and (when == 'never' or another_answers(method, buf)) then
      return false
    end
    return supports(client, method, buf)
  end
end

---The default `vim.lsp.config.winnow`.
---@type vim.lsp.Config
M.config = {
  cmd = { 'winnow', 'serve' },
  root_markers = ROOT_MARKERS,
  workspace_required = true,
  before_init = function(params)
    if require('winnow.config').current.complete then
      params.capabilities.experimental = { winnow = { requests = { '$/complete' } } }
    end
  end,
  handlers = {
    ['$/progress'] = on_progress,
    ['window/showMessage'] = on_message,
    ---@async
    ['$/complete'] = function(_, params)
      return require('winnow.complete').answer(params)
    end,
    ['$/cancelRequest'] = function()
      require('winnow.complete').cancel()
    end,
  },
}

---Return the project folder of a buffer, or of the working folder if the buffer has none. Raise an
---error if the working folder was deleted.
---@param buf integer
---@return string
function M.root(buf)
  local name = vim.api.nvim_buf_get_name(buf)
  if vim.startswith(name, 'winnow-doc://') then
    name = require('winnow.document').file(name)
  elseif vim.bo[buf].buftype ~= '' then
    name = ''
  end
  local markers = vim.lsp.config.winnow.root_markers or ROOT_MARKERS
  local cwd = vim.uv.cwd()
  if not cwd then
    error('winnow: the working folder does not exist; change it with `:cd`', 0)
  end
  return name ~= '' and vim.fs.root(name, markers) or vim.fs.root(cwd, markers) or cwd
end

---@param client vim.lsp.Client
---@return string
function M.folder(client)
  return vim.fs.normalize(client.root_dir or assert(vim.uv.cwd()))
end

---@param path string
---@param folder string
---@return boolean
local function is_below(path, folder)
  return path == folder or vim.fs.relpath(folder, path) ~= nil
end

---Return the running server for a folder, if any.
---@param folder string
---@return vim.lsp.Client?
function M.running(folder)
  for _, client in ipairs(vim.lsp.get_clients({ name = NAME, _uninitialized = true })) do
    if not client:is_stopped() and is_below(vim.fs.normalize(folder), M.folder(client)) then
      return client
    end
  end
end

---Return true for a loaded buffer of a file below the folder. Its text may differ from the file.
local function is_file_below(buf, folder)
  local name = vim.api.nvim_buf_get_name(buf)
  return vim.api.nvim_buf_is_loaded(buf)
    and vim.bo[buf].buftype == ''
    and name ~= ''
    and is_below(vim.fs.normalize(name), folder)
end

---Attach all buffers below the server's folder, now and later. Neovim itself attaches only those
---with a file type, to a server that the user enabled.
---@param client vim.lsp.Client
local function attach_buffers(client)
  local folder = M.folder(client)
  local group = vim.api.nvim_create_augroup('winnow-attach-' .. client.id, {})
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    if is_file_below(buf, folder) then
      vim.lsp.buf_attach_client(buf, client.id)
    end
  end
  vim.api.nvim_create_autocmd({ 'BufReadPost', 'BufNewFile', 'BufFilePost' }, {
    group = group,
    callback = function(event)
      if client:is_stopped() then
        return true
      end
      if is_file_below(event.buf, folder) then
        vim.lsp.buf_attach_client(event.buf, client.id)
      end
    end,
  })
end

---Remove the capabilities of a server that the user did not enable, except those that a search
---needs: it must not add a second answer to every definition.
---@param client vim.lsp.Client
local function remove_standard_methods(client)
  local capabilities = assert(client.server_capabilities, 'an initialized server has capabilities')
  client.server_capabilities = {
    positionEncoding = capabilities.positionEncoding,
    textDocumentSync = capabilities.textDocumentSync,
    experimental = capabilities.experimental,
  }
end

---@type table<vim.lsp.Client, true>
local prepared = setmetatable({}, { __mode = 'k' })

---Let a server that has started see all open files of its folder, and limit what else it does.
---@param client vim.lsp.Client
function M.prepare(client)
  if prepared[client] ~= nil then
    return
  end
  prepared[client] = true
  limit_standard_methods(client)
  attach_buffers(client)
end

---Return the server's command as text.
---@param cmd? string[]|function
---@return string
function M.command_line(cmd)
  return type(cmd) == 'table' and table.concat(cmd, ' ') or 'a function of your configuration'
end

---Return why the server can't be started and how to fix it, or nil.
---@param cmd? string[]|function
---@return string?
function M.start_problem(cmd)
  local program = type(cmd) == 'table' and cmd[1]
  if not program or vim.fn.executable(program) == 1 then
    return nil
  end
  return table.concat({
    ('`%s` not found.'):format(program),
    'Install it (pip install winnow-ls), or set its path:',
    "vim.lsp.config('winnow', { cmd = { '/path/to/winnow', 'serve' } })",
  }, ' ')
end

---@param folder string
---@return vim.lsp.Client? client
---@return string? problem
local function start(folder)
  local config = vim.deepcopy(vim.lsp.config.winnow)
  local problem = M.start_problem(config.cmd)
  if problem then
    return nil, problem
  end
  config.root_dir = folder
  local id = vim.lsp.start(config, { attach = false, silent = true })
  local client = id and vim.lsp.get_client_by_id(id)
  if not client then
    return nil, 'the server did not start; run :checkhealth winnow'
  end
  return client
end

---Call back when the server is ready, or with the problem.
---@param client vim.lsp.Client
---@param done fun(client?: vim.lsp.Client, problem?: string)
local function when_ready(client, done)
  local timer = assert(vim.uv.new_timer())
  local deadline = vim.uv.now() + START_MS
  local over = false
  timer:start(
    0,
    POLL_MS,
    vim.schedule_wrap(function()
      local gone = client:is_stopped() or vim.uv.now() > deadline
      if over or not (client.initialized or gone) then
        return
      end
      over = true
      timer:close()
      if client.initialized and not gone then
        done(client)
      else
        done(nil, 'the server exited during startup; run :checkhealth winnow')
      end
    end)
  )
end

---Call back with the server for a folder, possibly immediately. Start the server if necessary.
---@param folder string
---@param done fun(client?: vim.lsp.Client, problem?: string)
function M.with_client(folder, done)
  local client = M.running(folder)
  if client and client.initialized then
    return done(client)
  end
  if client then
    return when_ready(client, done)
  end
  local started, problem = start(folder)
  if not started then
    return done(nil, problem)
  end
  when_ready(started, function(ready, failed)
    if ready then
      if not vim.lsp.is_enabled(NAME) then
        remove_standard_methods(ready)
      end
      M.prepare(ready)
    end
    done(ready, failed)
  end)
end

---@param listen? fun(value: any)
---@return string
local function new_token(listen)
  tokens = tokens + 1
  local token = ('winnow-nvim-%d'):format(tokens)
  listeners[token] = listen
  return token
end

---Ignore later messages for these tokens. Without a listener, Neovim would show them.
---@param finished string[]
local function ignore(finished)
  for _, token in pairs(finished) do
    listeners[token] = function() end
    vim.defer_fn(function()
      listeners[token] = nil
    end, LATE_MS)
  end
end

---@class winnow.RequestCallbacks
---@field done fun(answer?: table, problem?: string) called once, unless the request is canceled
---@field partial? fun(value: table)
---@field progress? false|fun(value: table) called with work-done progress. If nil, Neovim shows it
---  (|LspProgress|). If false, the server sends none.

---Send a request and pass its results to the callbacks.
---@param client vim.lsp.Client
---@param method string
---@param params table
---@param callbacks winnow.RequestCallbacks
---@return fun() cancel cancels the request; no callback is called afterwards
function M.request(client, method, params, callbacks)
  local partial = callbacks.partial and new_token(callbacks.partial)
  local progress = callbacks.progress ~= false and new_token(callbacks.progress or nil) or nil
  params = vim.tbl_extend('force', params, {
    partialResultToken = partial,
    workDoneToken = progress,
  })
  -- An empty table would become an empty array.
  params = next(params) and params or vim.empty_dict()
  local timer = assert(vim.uv.new_timer())
  local over = false

  local function finish()
    over = true
    timer:stop()
    timer:close()
    ignore({ partial, callbacks.progress and progress or nil })
  end

  local function respond(err, answer)
    if over then
      return
    end
    finish()
    if err then
      callbacks.done(nil, answers.problem(err))
    else
      callbacks.done(answer)
    end
  end

  -- Neovim delays the latest edits. A request sends those of one buffer, a notification those of
  -- all buffers.
  client:notify('$/setTrace', { value = 'off' })
  local sent, id = client:request(method, params, respond, vim.api.nvim_get_current_buf())
  if not sent then
    vim.schedule(function()
      respond({ message = 'the server exited; the next search restarts it' })
    end)
  end
  timer:start(
    ALIVE_MS,
    ALIVE_MS,
    vim.schedule_wrap(function()
      if not over and client:is_stopped() then
        respond({ message = 'the server exited; the next search restarts it' })
      end
    end)
  )
  return function()
    if over then
      return
    end
    finish()
    if sent and id and not client:is_stopped() then
      client:cancel_request(id)
    end
  end
end

---Send a request without partial results to the server for a folder.
---@param folder string
---@param method string
---@param params table
---@param done fun(answer?: table, problem?: string)
function M.call(folder, method, params, done)
  M.with_client(folder, function(client, problem)
    if client then
      M.request(client, method, params, { done = done, progress = false })
    else
      done(nil, problem)
    end
  end)
end

return M
