-- settled_before(id, token, answers): what this token's settlement answered, if it is among these; else lease_lost.
-- NEEDS task
local function settled_before(id, token, answers)
  local settled = redis.call('HGET', task .. id, 'settled') or ''
  local by, answer, value = string.match(settled, '^(%S+) (%S+) ?(%d*)$')
  if by ~= token or not answers[answer] then return { 'lease_lost' } end
  if value == '' then return { answer } end
  return { answer, tonumber(value) }
end
