-- add_steps(record, id, bytes): add the steps of a leased task to its record, a flat list: for each a pair `step:<label>`,
-- with its entry of `steps:<id>`. If they have more than 64 KiB, they are left out, and the worker reads them with `steps`.
-- bytes: of all its steps.
local function add_steps(record, id, bytes)
  if bytes > 65536 then return end
  local flat = redis.call('HGETALL', steps .. id)  -- at most 4,096: 64 KiB, and a step counts 32 bytes
  for f = 1, #flat, 2 do
    record[#record + 1] = 'step:' .. flat[f]
    record[#record + 1] = flat[f + 1]
  end
end
