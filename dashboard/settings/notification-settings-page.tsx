import { MySettings } from "./my-settings.tsx";
import { NotificationSettings } from "./notification-settings.tsx";

export function NotificationSettingsPage() {
  return (
    <MySettings>
      <NotificationSettings />
    </MySettings>
  );
}
