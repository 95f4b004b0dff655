-- forget_crashes(id, held): a task has come further, so its crashes count from 0: in its lease, an entry of `running`, and in
-- its record.
local function forget_crashes(id, held)
  local bar = string.find(held, '|', 1, true)
  local ran = string.gsub(string.sub(held, bar + 1), '^(%d+ %d+ %d+) %d+', '%1 0')
  redis.call('HSET', running, id, string.sub(held, 1, bar) .. ran)
  redis.call('HDEL', task .. id, 'crashes')
end
