-- settled_before(id, token, answers): the earlier answer to a settlement with this token, if it is one of `answers`;
-- otherwise lease_lost.
local function settled_before(id, token, answers)
  for _, settled in ipairs(redis.call('HMGET', task .. id, 'settled', 'settled_earlier')) do
    local by, answer, value = string.match(settled or '', '^(%S+) (%S+) ?(%d*)$')
    if by == token and answers[answer] then return { answer, value ~= '' and tonumber(value) or nil } end
  end
  return { 'lease_lost' }
end
