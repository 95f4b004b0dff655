-- note_giver(own, one, person): an agent has delegated a request for this person, who must not write the change meanwhile.
local function note_giver(own, one, person)
  local key = requests .. own.id .. '/' .. one.slot
  local known = redis.call('HGET', key, 'delegated_for') or ''
  if string.find(',' .. known .. ',', ',' .. person .. ',', 1, true) then return end
  redis.call('HSET', key, 'delegated_for', known ~= '' and known .. ',' .. person or person)
end
