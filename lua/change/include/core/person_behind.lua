-- person_behind(): the person who answers for the actor of this call; or nil and the error to return.
local function person_behind()
  local refused = refuse_hidden('actor', actor) or refuse_hidden('principal', principal)
  if refused then return nil, refused end
  if kind == 'agent' and (principal == '' or principal == actor) then
    return nil, refuse('principal', principal, 'the person who answers for the agent')
  end
  if kind == 'person' and principal ~= '' and principal ~= actor then
    return nil, refuse('principal', principal, 'the actor or empty, because a person answers for itself; an agent is kind=agent')
  end
  return principal ~= '' and principal or actor
end
