-- has_denied_tag(own): whether one of the tags of a change forbids its policy to approve it.
local function has_denied_tag(own)
  for tag in string.gmatch(text_of(own, 'tags'), '[^,]+') do  -- at most 16: tags
    if string.find(',' .. text_of(own, 'p_deny_tags') .. ',', ',' .. tag .. ',', 1, true) then return true end
  end
  return false
end
