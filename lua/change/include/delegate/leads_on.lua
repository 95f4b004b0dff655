-- leads_on(own, person, fields): whether a delegation of this person may lead a request on: neither the person nor, if it is an agent, the
-- person behind it has answered another request, and the latter is no contributor.
local function leads_on(own, person, fields)
  local behind = fields['for']
  if has_answered(own, person) or behind and has_answered(own, behind) then return false end
  return not behind or text_of(own, 'p_contributors_may_vote') == '1' or not has_written(own.id, { behind })
end
