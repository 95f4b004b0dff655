-- settled_before(id, token, answers): what this token's settlement answered, if it is among these; else lease_lost.
local function settled_before(id, token, answers)
  for _, settled in ipairs(redis.call('HMGET', task .. id, 'settled', 'settled_earlier')) do
    local by, answer, value = string.match(settled or '', '^(%S+) (%S+) ?(%d*)$')
    if by == token and answers[answer] then return { answer, value ~= '' and tonumber(value) or nil } end
  end
  return { 'lease_lost' }
end
