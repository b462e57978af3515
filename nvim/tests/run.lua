-- Run the tests: `nvim --headless -u NONE -i NONE -l tests/run.lua [NAME...]`, from any folder.
--
-- Each `tests/*_spec.lua` returns a list of named tests. A test fails with an error and is skipped
-- with `t.skip(why)`. The files run in parallel, in Neovim processes with a screen of 130 columns
-- and 34 lines (worker.lua). Their tests run in random order; WINNOW_SEED repeats an order. The
-- last line has the counts. The exit code is 1 if a test failed.

local COLUMNS, LINES = 130, 34
-- One worker for each processor, up to this number, because each starts its own servers.
local MAX_WORKERS = 3
-- A worker without an answer for this long hangs. The timeouts of tests are much shorter.
local HANG_MS = 180000

local here = vim.fs.dirname(vim.fs.normalize(vim.fn.fnamemodify(arg[0], ':p')))
local seed = tonumber(vim.env.WINNOW_SEED) or math.floor(vim.uv.hrtime() / 1000) % 100000
local counts = { ok = 0, FAILED = 0, skipped = 0 }

local function print_line(line)
  io.write(line, '\n')
  io.flush()
end

---@param name string
---@param outcome 'ok'|'FAILED'|'skipped'
---@param details string
local function report(name, outcome, details)
  counts[outcome] = counts[outcome] + 1
  print_line(('%-7s %s%s'):format(outcome, name, details))
end

-- The tests don't read or write the user's files. They write to one folder.
local home = assert(vim.uv.fs_mkdtemp(vim.fs.joinpath(vim.uv.os_tmpdir(), 'winnow-nvim-XXXXXX')))
for name in pairs(vim.fn.environ()) do
  if vim.endswith(name, '_API_KEY') or name == 'WINNOW_CONFIG' then
    vim.env[name] = nil
  end
end

---@param number integer
---@return table<string, string>
local function environment(number)
  local folder = vim.fs.joinpath(home, tostring(number))
  local env = { TMPDIR = vim.fs.joinpath(folder, 'tmp') }
  for _, name in ipairs({ 'STATE', 'DATA', 'CONFIG', 'CACHE' }) do
    env[('XDG_%s_HOME'):format(name)] = vim.fs.joinpath(folder, name:lower())
  end
  vim.fn.mkdir(env.TMPDIR, 'p')
  return env
end

---Return the spec files to run, the largest first.
---@return string[]
local function specs()
  local names = vim.list_slice(arg, 1)
  local files = vim.tbl_filter(function(file)
    local name = vim.fs.basename(file):gsub('_spec%.lua$', '')
    return #names == 0 or vim.list_contains(names, name)
  end, vim.fn.glob(here .. '/*_spec.lua', true, true))
  -- The smaller files then fill the remaining time of the other workers.
  table.sort(files, function(left, right)
    return vim.fn.getfsize(left) > vim.fn.getfsize(right)
  end)
  return files
end

---@class winnow.Worker
---@field channel integer
---@field job integer
---@field number integer
---@field spec? string
---@field tests string[] the remaining tests of the spec
---@field test? string the running test
---@field answered_at integer time of its last answer
---@field ended boolean

local queue = specs()
---@type table<integer, winnow.Worker>
local workers = {}
local started = 0
local start

---@param worker winnow.Worker
---@param call string
---@param ... any
local function send(worker, call, ...)
  worker.answered_at = vim.uv.now()
  vim.rpcnotify(worker.channel, 'nvim_exec_lua', "require('worker')." .. call .. '(...)', { ... })
end

---Let a worker run its next test, or load the next file.
---@param worker winnow.Worker
local function continue_with(worker)
  worker.test = table.remove(worker.tests, 1)
  if worker.test then
    return send(worker, 'run', worker.test)
  end
  worker.spec = table.remove(queue, 1)
  send(worker, worker.spec and 'load' or 'quit', worker.spec or nil)
end

---Handle a message from a worker; see worker.lua.
---@param number integer
---@param event 'loaded'|'ran'|'reported'|'quit'
---@param value any
function _G.winnow_on_message(number, event, value)
  local worker = workers[number]
  worker.answered_at = vim.uv.now()
  if event == 'loaded' then
    worker.tests = value
    continue_with(worker)
  elseif event == 'ran' then
    -- Report in another iteration of its main loop, where a prompt for a key would block.
    send(worker, 'report')
  elseif event == 'reported' then
    report(value.name, value.outcome, value.details)
    continue_with(worker)
  elseif event == 'quit' then
    for _, process in ipairs(value) do
      report(process, 'FAILED', ' was left behind')
    end
    worker.ended = true
    vim.fn.jobstop(worker.job)
  end
end

---@param worker winnow.Worker
---@param reason string
local function fail_worker(worker, reason)
  if not worker.ended then
    worker.ended = true
    report(worker.test or worker.spec or 'startup', 'FAILED', '\n' .. reason)
    for _, test in ipairs(worker.tests) do
      report(test, 'FAILED', '\nnot run')
    end
    start()
  end
end

function start()
  started = started + 1
  local number = started
  ---@type winnow.Worker
  local worker = { number = number, tests = {}, answered_at = vim.uv.now(), ended = false }
  workers[number] = worker
  local errors = {}
  worker.job = vim.fn.jobstart({ vim.v.progpath, '--embed', '-u', 'NONE', '-i', 'NONE' }, {
    rpc = true,
    env = environment(number),
    on_stderr = function(_, data)
      vim.list_extend(errors, data)
    end,
    on_exit = function(_, code)
      fail_worker(
        worker,
        ('Neovim exited with code %d: %s'):format(code, table.concat(errors, '\n'))
      )
    end,
  })
  worker.channel = worker.job
  vim.rpcrequest(worker.channel, 'nvim_ui_attach', COLUMNS, LINES, { rgb = true })
  vim.rpcrequest(
    worker.channel,
    'nvim_exec_lua',
    [[
    local here, number, seed = ...
    package.path = here .. '/?.lua;' .. package.path
    require('worker').begin(number, seed)
  ]],
    { here, number, seed }
  )
  continue_with(worker)
end

---Return the descendants of a process.
---@param pid integer
---@return integer[]
local function descendants(pid)
  local pids = {}
  for _, child in ipairs(vim.api.nvim_get_proc_children(pid)) do
    pids[#pids + 1] = child
    vim.list_extend(pids, descendants(child))
  end
  return pids
end

---@param worker winnow.Worker
local function kill(worker)
  local worker_pid = vim.fn.jobpid(worker.job)
  for _, pid in ipairs(vim.list_extend({ worker_pid }, descendants(worker_pid))) do
    vim.uv.kill(pid, 'sigkill')
  end
end

print_line(('seed %d'):format(seed))
local cores = #vim.uv.cpu_info()
for _ = 1, math.min(math.max(cores, 1), MAX_WORKERS, #queue) do
  start()
end
vim.wait(2 ^ 31 - 1, function()
  for _, worker in pairs(workers) do
    if not worker.ended and vim.uv.now() - worker.answered_at > HANG_MS then
      kill(worker)
      fail_worker(worker, 'the worker hangs')
    end
  end
  return vim.iter(pairs(workers)):all(function(_, worker)
    return worker.ended
  end)
end, 20)
-- Neovim still writes files while it exits. Delete the folder afterwards.
vim.fn.jobwait(vim.tbl_map(function(worker)
  return worker.job
end, workers))
vim.fn.delete(home, 'rf')
print_line(('\n%d passed, %d failed, %d skipped'):format(counts.ok, counts.FAILED, counts.skipped))
-- With `os.exit`, Neovim would not delete its temporary folder.
if counts.FAILED > 0 then
  vim.cmd.cquit()
end
