-- Runs the tests: `nvim --headless -u NONE -i NONE -l tests/run.lua [NAME...]`, from anywhere.
--
-- Each `tests/*_spec.lua` gives a list of named tests. A test fails by an error, and is skipped by
-- `t.skip(why)`. The files run side by side, in Neovims with a screen of 130 columns and 34 lines
-- (worker.lua), and their tests in a random order: WINNOW_SEED repeats one. The last line says how
-- many there were of each; the exit code is 1 if one failed.

local COLUMNS, LINES = 130, 34
-- One Neovim for each processor, but each starts servers of its own.
local MOST_WORKERS = 3
-- After this long without an answer a Neovim hangs. The waits of tests end long before.
local SILENCE_MS = 180000

local here = vim.fs.dirname(vim.fs.normalize(vim.fn.fnamemodify(arg[0], ':p')))
local seed = tonumber(vim.env.WINNOW_SEED) or math.floor(vim.uv.hrtime() / 1000) % 100000
local counts = { ok = 0, FAILED = 0, skipped = 0 }

local function say(line)
  io.write(line, '\n')
  io.flush()
end

---@param name string
---@param outcome 'ok'|'FAILED'|'skipped'
---@param more string
local function tell(name, outcome, more)
  counts[outcome] = counts[outcome] + 1
  say(('%-7s %s%s'):format(outcome, name, more))
end

-- Nothing of whoever runs the tests is read or written, and all that is written is in one folder.
local home = assert(vim.uv.fs_mkdtemp(vim.fs.joinpath(vim.uv.os_tmpdir(), 'winnow-nvim-XXXXXX')))
for name in pairs(vim.fn.environ()) do
  if vim.endswith(name, '_API_KEY') or name == 'WINNOW_CONFIG' then
    vim.env[name] = nil
  end
end

---@param number integer
---@return table<string, string>
local function environment(number)
  local own = vim.fs.joinpath(home, tostring(number))
  local env = { TMPDIR = vim.fs.joinpath(own, 'tmp') }
  for _, name in ipairs({ 'STATE', 'DATA', 'CONFIG', 'CACHE' }) do
    env[('XDG_%s_HOME'):format(name)] = vim.fs.joinpath(own, name:lower())
  end
  vim.fn.mkdir(env.TMPDIR, 'p')
  return env
end

---The spec files that were asked for, in this run's order.
---@return string[]
local function specs()
  local wanted = vim.list_slice(arg, 1)
  local found = vim.tbl_filter(function(file)
    local name = vim.fs.basename(file):gsub('_spec%.lua$', '')
    return #wanted == 0 or vim.list_contains(wanted, name)
  end, vim.fn.glob(here .. '/*_spec.lua', true, true))
  -- The largest first: the others fill what time is left beside it.
  table.sort(found, function(one, other)
    return vim.fn.getfsize(one) > vim.fn.getfsize(other)
  end)
  return found
end

---@class winnow.Worker
---@field channel integer
---@field job integer
---@field number integer
---@field spec? string
---@field tests string[] those of the spec that are still to be run
---@field test? string the one that runs
---@field heard integer when it has answered last
---@field ended boolean

local queue = specs()
---@type table<integer, winnow.Worker>
local workers = {}
local started = 0
local start

---@param worker winnow.Worker
---@param call string
---@param ... any
local function ask(worker, call, ...)
  worker.heard = vim.uv.now()
  vim.rpcnotify(worker.channel, 'nvim_exec_lua', "require('worker')." .. call .. '(...)', { ... })
end

---Have a worker run its next test, or the first one of the next file.
---@param worker winnow.Worker
local function go_on(worker)
  worker.test = table.remove(worker.tests, 1)
  if worker.test then
    return ask(worker, 'run', worker.test)
  end
  worker.spec = table.remove(queue, 1)
  ask(worker, worker.spec and 'load' or 'quit', worker.spec or nil)
end

---What a worker has to say; see worker.lua.
---@param number integer
---@param what 'loaded'|'ran'|'reported'|'quit'
---@param value any
function _G.winnow_heard(number, what, value)
  local worker = workers[number]
  worker.heard = vim.uv.now()
  if what == 'loaded' then
    worker.tests = value
    go_on(worker)
  elseif what == 'ran' then
    -- Another turn of its main loop: what waits for a key does so there.
    ask(worker, 'report')
  elseif what == 'reported' then
    tell(value.name, value.outcome, value.more)
    go_on(worker)
  elseif what == 'quit' then
    for _, left in ipairs(value) do
      tell(left, 'FAILED', ' was left behind')
    end
    worker.ended = true
    vim.fn.jobstop(worker.job)
  end
end

---@param worker winnow.Worker
---@param why string
local function lost(worker, why)
  if not worker.ended then
    worker.ended = true
    tell(worker.test or worker.spec or 'the start', 'FAILED', '\n' .. why)
    for _, test in ipairs(worker.tests) do
      tell(test, 'FAILED', '\nit was not run')
    end
    start()
  end
end

function start()
  started = started + 1
  local number = started
  ---@type winnow.Worker
  local worker = { number = number, tests = {}, heard = vim.uv.now(), ended = false }
  workers[number] = worker
  local said = {}
  worker.job = vim.fn.jobstart({ vim.v.progpath, '--embed', '-u', 'NONE', '-i', 'NONE' }, {
    rpc = true,
    env = environment(number),
    on_stderr = function(_, data)
      vim.list_extend(said, data)
    end,
    on_exit = function(_, code)
      lost(worker, ('Neovim has ended with code %d: %s'):format(code, table.concat(said, '\n')))
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
  go_on(worker)
end

---The processes below one.
---@param pid integer
---@return integer[]
local function below(pid)
  local found = {}
  for _, child in ipairs(vim.api.nvim_get_proc_children(pid)) do
    found[#found + 1] = child
    vim.list_extend(found, below(child))
  end
  return found
end

---@param worker winnow.Worker
local function end_hanging(worker)
  local pid = vim.fn.jobpid(worker.job)
  for _, one in ipairs(vim.list_extend({ pid }, below(pid))) do
    vim.uv.kill(one, 'sigkill')
  end
end

say(('seed %d'):format(seed))
local cores = #vim.uv.cpu_info()
for _ = 1, math.min(math.max(cores, 1), MOST_WORKERS, #queue) do
  start()
end
vim.wait(2 ^ 31 - 1, function()
  for _, worker in pairs(workers) do
    if not worker.ended and vim.uv.now() - worker.heard > SILENCE_MS then
      end_hanging(worker)
      lost(worker, 'it hangs')
    end
  end
  return vim.iter(pairs(workers)):all(function(_, worker)
    return worker.ended
  end)
end, 20)
-- A Neovim that ends writes still: what it writes goes with its folder.
vim.fn.jobwait(vim.tbl_map(function(worker)
  return worker.job
end, workers))
vim.fn.delete(home, 'rf')
say(('\n%d passed, %d failed, %d skipped'):format(counts.ok, counts.FAILED, counts.skipped))
-- Not `os.exit`, after which Neovim would leave its temporary folder.
if counts.FAILED > 0 then
  vim.cmd.cquit()
end
