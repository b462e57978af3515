-- Runs the tests: `nvim --headless -u NONE -i NONE -l tests/run.lua [NAME...]`, from anywhere.
--
-- Each `tests/*_spec.lua` gives a list of named tests. A test fails by an error, and is skipped by
-- `t.skip(why)`. The last line says how many there were of each; the exit code is 1 if one failed.

local here = vim.fs.dirname(vim.fs.normalize(vim.fn.fnamemodify(arg[0], ':p')))
local plugin = vim.fs.dirname(here)
vim.opt.runtimepath:prepend(plugin)
package.path = table.concat({ here .. '/?.lua', package.path }, ';')

-- Nothing of whoever runs the tests is read or written.
local home = vim.fn.tempname()
for _, name in ipairs({ 'STATE', 'DATA', 'CONFIG', 'CACHE' }) do
  vim.env[('XDG_%s_HOME'):format(name)] = vim.fs.joinpath(home, name:lower())
end
for name in pairs(vim.fn.environ()) do
  if vim.endswith(name, '_API_KEY') or name == 'WINNOW_CONFIG' then
    vim.env[name] = nil
  end
end

local wanted = vim.list_slice(arg, 1)
local t = require('support')
local passed, failed, skipped = 0, 0, 0

local function say(line)
  io.write(line, '\n')
  io.flush()
end

---@param name string
---@param test fun()
local function run(name, test)
  local started = vim.uv.hrtime()
  local ok, problem = xpcall(test, function(err)
    return type(err) == 'table' and err or debug.traceback(tostring(err), 2)
  end)
  t.clean_up()
  local ms = (vim.uv.hrtime() - started) / 1e6
  if ok then
    passed = passed + 1
    say(('ok      %s (%d ms)'):format(name, ms))
  elseif type(problem) == 'table' and problem.skipped then
    skipped = skipped + 1
    say(('skipped %s: %s'):format(name, problem.skipped))
  else
    failed = failed + 1
    say(('FAILED  %s\n%s'):format(name, vim.inspect(problem):gsub('\\n', '\n')))
  end
end

for _, file in ipairs(vim.fn.sort(vim.fn.glob(here .. '/*_spec.lua', true, true))) do
  local name = vim.fs.basename(file):gsub('_spec%.lua$', '')
  if #wanted == 0 or vim.list_contains(wanted, name) then
    for _, test in ipairs(dofile(file)) do
      run(('%s: %s'):format(name, test[1]), test[2])
    end
  end
end

t.stop_servers()
vim.fn.delete(home, 'rf')
-- What Neovim has shown last may have no line end.
say(('\n%d passed, %d failed, %d skipped'):format(passed, failed, skipped))
os.exit(failed > 0 and 1 or 0)
