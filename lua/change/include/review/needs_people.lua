-- needs_people(own): whether no policy may approve this change: it has, or has had since its submit, a tag that forbids it, or people have
-- rejected this content before.
local function needs_people(own)
  return text_of(own, 'denied') == '1' or has_denied_tag(own) or was_rejected(own)
end
