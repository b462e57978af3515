-- The language server: which one answers for a place, its start, requests with partial results and
-- a cancellation that holds.
--
-- After `client:cancel_request` Neovim drops the callback: whoever cancels is done at once, and
-- must not wait for an answer. A server that dies drops it, too, so that a timer looks after each
-- request.

local answers = require('winnow.answer')

local M = {}

local NAME = 'winnow'
local ROOT_MARKERS = { { 'winnow.toml', '.git' } }
-- The server announces itself within a second; a machine that is very busy may take ten times that.
local START_MS = 30000
local POLL_MS = 5
local ALIVE_MS = 250
-- How long something may come after the end of its request.
local LATE_MS = 10000

---Who hears of a token: partial results and progress of one's own requests are nobody else's.
---@type table<string, fun(value: any)>
local listeners = {}
local tokens = 0

---Pass what comes on a token of ours to its listener, and everything else to Neovim.
local function on_progress(err, params, context)
  local listen = listeners[params.token]
  if listen then
    listen(params.value)
  else
    vim.lsp.handlers['$/progress'](err, params, context)
  end
end

---What `vim.lsp.config.winnow` begins with.
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
    ---@async
    ['$/complete'] = function(_, params)
      return require('winnow.complete').answer(params)
    end,
    ['$/cancelRequest'] = function()
      require('winnow.complete').cancel()
    end,
  },
}

---The folder that a search from a buffer is about: that of its project, else of the working
---folder's.
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
  local cwd = assert(vim.uv.cwd())
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

---The running server for a folder.
---@param folder string
---@return vim.lsp.Client?
function M.running(folder)
  for _, client in ipairs(vim.lsp.get_clients({ name = NAME, _uninitialized = true })) do
    if not client:is_stopped() and is_below(vim.fs.normalize(folder), M.folder(client)) then
      return client
    end
  end
end

---Whether the server should have a buffer's text, because it differs from the file now and then.
local function is_file_below(buf, folder)
  local name = vim.api.nvim_buf_get_name(buf)
  return vim.api.nvim_buf_is_loaded(buf)
    and vim.bo[buf].buftype == ''
    and name ~= ''
    and is_below(vim.fs.normalize(name), folder)
end

---Have a server that nobody enabled see the files that are open below its folder, now and later;
---and nothing else: somebody who has only searched does not want a second answer to every
---definition.
---@param client vim.lsp.Client
local function attach_buffers(client)
  local folder = M.folder(client)
  local announced = assert(client.server_capabilities, 'it is ready, so it has announced them')
  client.server_capabilities = {
    positionEncoding = announced.positionEncoding,
    textDocumentSync = announced.textDocumentSync,
    experimental = announced.experimental,
  }
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

---What starts the server, as one would type it.
---@param cmd? string[]|function
---@return string
function M.command_line(cmd)
  return type(cmd) == 'table' and table.concat(cmd, ' ') or 'a function of your configuration'
end

---Why the server cannot be started, and what would help.
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
    return nil, 'the server does not start; run :checkhealth winnow'
  end
  return client
end

---Call back when the server is ready to answer, or with the problem.
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

---Call back with the server for a folder, which is started if there is none. It may be at once.
---@param folder string
---@param done fun(client?: vim.lsp.Client, problem?: string)
function M.with(folder, done)
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
    if ready and not vim.lsp.is_enabled(NAME) then
      attach_buffers(ready)
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

---Hear no more of tokens. What is still on the way for them is nobody's: Neovim would show it.
---@param finished string[]
local function forget(finished)
  for _, token in pairs(finished) do
    listeners[token] = function() end
    vim.defer_fn(function()
      listeners[token] = nil
    end, LATE_MS)
  end
end

---@class winnow.Hears
---@field done fun(answer?: table, problem?: string) called once, unless the request is cancelled
---@field partial? fun(value: table)
---@field progress? false|fun(value: table) hears of work-done progress; without it Neovim shows it
---  (|LspProgress|), and with false there is none

---Send a request; what comes back is told to `hears`.
---@param client vim.lsp.Client
---@param method string
---@param params table
---@param hears winnow.Hears
---@return fun() cancel ends it at once; nothing is told any more
function M.request(client, method, params, hears)
  local partial = hears.partial and new_token(hears.partial)
  local progress = hears.progress ~= false and new_token(hears.progress or nil) or nil
  params = vim.tbl_extend('force', params, {
    partialResultToken = partial,
    workDoneToken = progress,
  })
  -- An empty table would be an empty array.
  params = next(params) and params or vim.empty_dict()
  local timer = assert(vim.uv.new_timer())
  local over = false

  local function finish()
    over = true
    timer:stop()
    timer:close()
    forget({ partial, hears.progress and progress or nil })
  end

  local function tell(err, answer)
    if over then
      return
    end
    finish()
    if err then
      hears.done(nil, answers.problem(err))
    else
      hears.done(answer)
    end
  end

  -- What was typed a moment ago is still held back. A request sends that of one buffer, a
  -- notification that of all.
  client:notify('$/setTrace', { value = 'off' })
  local sent, id = client:request(method, params, tell, vim.api.nvim_get_current_buf())
  if not sent then
    vim.schedule(function()
      tell({ message = 'the server exited; the next search restarts it' })
    end)
  end
  timer:start(
    ALIVE_MS,
    ALIVE_MS,
    vim.schedule_wrap(function()
      if not over and client:is_stopped() then
        tell({ message = 'the server exited; the next search restarts it' })
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

---Ask the server for a folder; the short form for requests without partial results.
---@param folder string
---@param method string
---@param params table
---@param done fun(answer?: table, problem?: string)
function M.ask(folder, method, params, done)
  M.with(folder, function(client, problem)
    if client then
      M.request(client, method, params, { done = done, progress = false })
    else
      done(nil, problem)
    end
  end)
end

return M
