-- has_other_result(ctx, id, token, value, first): whether the task that this token completed has another result than
-- this one. first: the result that it got in this call, or nil. If its result was not kept, or is gone, the answer is
-- false. It does not read more bytes than were sent.
local function has_other_result(ctx, id, token, value, first)
  local row = redis.call('HMGET', task .. id, 'created_ms', 'result_ms', 'settled')
  if not row[1] or string.find(row[3] or '', token .. ' ', 1, true) ~= 1 then return false end  -- an older task of this id
  if first then return first ~= value end
  local length = redis.call('STRLEN', result .. id)
  if length == 0 then return value ~= '' and not row[2] and not ctx.settings.result_ms end
  return length ~= #value or redis.call('GET', result .. id) ~= value
end
