-- hold_once(conf, field, id, keep_ms): let a key of `once` stand for a task: for so long, or, without keep_ms, until untied.
-- NEEDS once once_due
local function hold_once(conf, field, id, keep_ms)
  if not keep_ms then
    redis.call('HSET', once, field, id)
    return
  end
  local until_text = string.format('%.0f', conf.now + keep_ms)
  redis.call('HSET', once, field, id .. ' ' .. until_text)
  redis.call('ZADD', once_due, until_text, field)
  conf.held = (conf.held or 0) + 1
end
